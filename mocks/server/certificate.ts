// Makes certificates for a mock with TLS: an authority that lives as long as the process, and a certificate
// for the mock's names. Node can sign but cannot write X.509, so the required structures are encoded here
// (RFC 5280). Elliptic-curve keys are used because generating a key takes a millisecond.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** Certificates and key as PEM. */
interface Certified {
  /** Certificate of the authority, for clients that must trust the mock. */
  readonly ca: string
  /** Certificates that the server sends: its own and the authority's. */
  readonly cert: string
  readonly key: string
}

const DAY = 86_400_000
/** Validity, longer than any run. */
const LIFETIME = 30 * DAY

/** Creates an authority and a certificate for `names`, host names or IP addresses. */
export function certify(names: readonly string[]): Certified {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { name: 'Waybill mock authority', id: keyIdOf(authority.publicKey) }
  const ca = certificate(issuer.name, authority.publicKey, issuer.name, authority.privateKey, [
    extension('551d13', true, sequence(TRUE)), // basicConstraints: an authority
    extension('551d0f', true, tlv(0x03, Buffer.from([1, 0x06]))), // keyUsage: signs certificates and lists
    extension('551d0e', false, tlv(0x04, issuer.id)), // subjectKeyIdentifier
  ])
  const leaf = certificate('Waybill mock', server.publicKey, issuer.name, authority.privateKey, [
    extension('551d13', true, sequence()),
    extension('551d0f', true, tlv(0x03, Buffer.from([7, 0x80]))), // keyUsage: signs handshakes
    extension('551d25', false, sequence(oid('2b06010505070301'))), // extendedKeyUsage: a server
    extension('551d0e', false, tlv(0x04, keyIdOf(server.publicKey))),
    extension('551d23', false, sequence(tlv(0x80, issuer.id))), // authorityKeyIdentifier
    extension('551d11', false, sequence(...names.map(nameOf))), // subjectAltName
  ])
  return {
    ca: pem(ca),
    cert: pem(leaf) + pem(ca),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function certificate(
  subject: string,
  publicKey: KeyObject,
  issuer: string,
  signer: KeyObject,
  extensions: readonly Buffer[],
): Buffer {
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // makes the number positive and of fixed length
  const signed = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))), // version 3
    tlv(0x02, serial),
    ECDSA_SHA256,
    distinguished(issuer),
    sequence(time(Date.now() - DAY), time(Date.now() + LIFETIME)),
    distinguished(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(...extensions)),
  )
  return sequence(signed, ECDSA_SHA256, tlv(0x03, Buffer.concat([ZERO, sign('sha256', signed, signer)])))
}

/** Encodes DER: tag, length, value. */
function tlv(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  const { length } = value
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

const sequence = (...parts: readonly Buffer[]): Buffer => tlv(0x30, ...parts)
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'))

const ZERO = Buffer.from([0])
const TRUE = tlv(0x01, Buffer.from([0xff]))
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))

const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [TRUE] : []), tlv(0x04, value))

/** Encodes a name with only a common name. */
const distinguished = (name: string): Buffer =>
  sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from(name)))))

const time = (ms: number): Buffer =>
  tlv(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .replace(/[-:T]|\..*/g, '')
        .slice(2)}Z`,
    ),
  )

const keyIdOf = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()

/** Encodes a subjectAltName entry: an address as bytes, or a host name. */
function nameOf(name: string): Buffer {
  const kind = isIP(name)
  if (kind === 0) return tlv(0x82, Buffer.from(name))
  if (kind === 4) return tlv(0x87, Buffer.from(name.split('.').map(Number)))
  const [head = '', tail] = new URL(`http://[${name}]`).hostname.slice(1, -1).split('::')
  const groups = (text = '') => (text === '' ? [] : text.split(':'))
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [
    ...groups(head),
    ...Array.from({ length: tail === undefined ? 0 : missing }, () => '0'),
    ...groups(tail),
  ]
  return tlv(0x87, Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex'))
}

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
