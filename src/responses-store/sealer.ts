// Encrypts stored responses with a key from the environment. An encrypted text names its key, so that a
// changed key can be distinguished from damage. Independent of the store.

import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import { chance } from '../shared/chance.ts'

const CIPHER = 'aes-256-gcm'
const [KEY_NAME_BYTES, NONCE_BYTES, TAG_BYTES] = [8, 12, 16]

/** The text was encrypted with another key. */
export class OtherKeyError extends Error {
  override readonly name = 'OtherKeyError'
}

export interface Sealer {
  /** Encrypts bytes, or a string as UTF-8. `place`: the only place where the result can be decrypted. */
  seal(content: string | Buffer, place: string): string
  /** Decrypts. Throws OtherKeyError, or Error if the bytes were changed or belong to another place. */
  open(sealed: string, place: string): Buffer
}

export function createSealer(secret: string): Sealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'waybill kept responses', 32))
  const keyName = createHash('sha256').update(key).digest().subarray(0, KEY_NAME_BYTES)
  return {
    seal(content, place) {
      const nonce = chance.bytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place))
      const sealed = [cipher.update(Buffer.from(content)), cipher.final()]
      return Buffer.concat([keyName, nonce, cipher.getAuthTag(), ...sealed]).toString('base64')
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64')
      if (!bytes.subarray(0, KEY_NAME_BYTES).equals(keyName))
        throw new OtherKeyError('sealed with another key')
      const [nonceEnd, tagEnd] = [KEY_NAME_BYTES + NONCE_BYTES, KEY_NAME_BYTES + NONCE_BYTES + TAG_BYTES]
      const cipher = createDecipheriv(CIPHER, key, bytes.subarray(KEY_NAME_BYTES, nonceEnd))
      cipher.setAuthTag(bytes.subarray(nonceEnd, tagEnd)).setAAD(Buffer.from(place))
      return Buffer.concat([cipher.update(bytes.subarray(tagEnd)), cipher.final()])
    },
  }
}
