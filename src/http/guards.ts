// Refuses requests made by a web page (a foreign Host as in DNS rebinding, a foreign Origin, or no Origin although the
// browser reports another site). Refuses a gateway key in a URL, because URLs end up in histories and logs, and in a
// header that goes to a provider. Recognizes a key by its parameter's name, and by its value anywhere. Holds keys only
// as digests.
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { KeyConfig } from '../config/load.ts'
import { GatewayError } from '../core/errors.ts'
import { GATEWAY_KEY_HEADER } from '../credentials/caller-credential.ts'
import { type PageTokens, TOKEN_PREFIX } from './caller.ts'

export interface KeyGuard {
  /**
   * Checks a URL. `places`: path and query, or the sender's parts; `allowed`: the parameter that may contain
   * the key.
   */
  url(places: string, headers: IncomingHttpHeaders, allowed?: string): void
  /** Checks forwarded headers. `forwarded`: alternating names and values. */
  forwarded(forwarded: readonly string[], headers: IncomingHttpHeaders): void
}

/**
 * Maximum parameters, and maximum words to compare with the digests, about a microsecond each. A request with more of
 * them is refused.
 */
const MAX_PARAMETERS = 100
const MAX_WORDS = 500
/** Lengths of strings that may be a key. */
const [MIN_LENGTH, MAX_LENGTH] = [8, 512]
/** Maximum number of path segments that are joined. */
const MAX_SEGMENTS = 8
/** Maximum levels of encoding that are decoded. */
const MAX_DEPTH = 3
/** Maximum remembered strings without a key, so that common strings are not searched for every call. */
const MAX_HARMLESS = 1_000

const NAMES = /^(api[-_]?key|key|(access[-_]?)?token)$/i
/** Character sets of keys, from narrow to wide. Characters outside the set are ignored. */
const WORDS = [/[\w-]+/g, /[\w.~-]+/g, /[\w.~+/=-]+/g]

/** Returns the guard for the configured keys and the page tokens issued for them. */
export function createKeyGuard(keys: readonly KeyConfig[], tokens: Pick<PageTokens, 'find'>): KeyGuard {
  const isKey = keyTest(keys, tokens)
  const harmless = new Set<string>()

  const search = (texts: readonly string[], own: readonly string[], refused: Refused): void => {
    if (keys.length === 0) return
    const seen = new Set<string>()
    for (const text of texts.flatMap(decodings)) {
      if (own.some((key) => text.includes(key))) throw refusal(refused)
      for (const word of wordsOf(text)) {
        if (!isOfLength(word) || seen.has(word)) continue
        if (isKey(word) || insideOf(word).some(isKey)) throw refusal(refused)
        if (seen.add(word).size > MAX_WORDS) throw tooMuch(refused)
      }
    }
  }

  /** Searches a string unless it is known to be harmless. */
  const searchOnce = (id: string, own: readonly string[], search: () => void): void => {
    const isEncoded = id.includes('%')
    if (harmless.has(id) && !isEncoded && !own.some((key) => id.includes(key))) return
    search()
    if (isEncoded || id.length > MAX_LENGTH) return
    if (harmless.size >= MAX_HARMLESS) harmless.clear()
    harmless.add(id)
  }

  return {
    url(places, headers, allowed) {
      if (places === '') return
      const own = ownKeys(headers)
      searchOnce(`${allowed} ${places}`, own, () => search(textsOf(places, allowed), own, 'URL'))
    },
    forwarded(forwarded, headers) {
      if (forwarded.length === 0) return
      const own = ownKeys(headers)
      searchOnce(forwarded.join('\n'), own, () => search(forwarded.flatMap(partsOf), own, 'header'))
    },
  }
}

/** Returns a test for strings that are a gateway key or a page token. */
const keyTest = (keys: readonly KeyConfig[], tokens: Pick<PageTokens, 'find'>) => {
  const digests = new Set(keys.map(({ digest }) => digest))
  return (text: string): boolean =>
    digests.has(`sha256:${hash('sha256', text)}`) ||
    (text.startsWith(TOKEN_PREFIX) && tokens.find(text) !== null)
}

/**
 * Returns a test for a header that contains a gateway key or a page token, even behind a scheme or in base64.
 */
export function createKeyFinder(
  keys: readonly KeyConfig[],
  tokens: Pick<PageTokens, 'find'>,
): (text: string) => boolean {
  const isKey = keyTest(keys, tokens)
  return (text) => wordsOf(text).some((word) => isKey(word) || insideOf(word).some(isKey))
}

/**
 * Returns the path, and the names and values of the parameters. Throws for a parameter name that only keys
 * have.
 */
function textsOf(places: string, allowed: string | undefined): string[] {
  const parameters = places.split(/[?&;#]/, MAX_PARAMETERS + 1)
  if (parameters.length > MAX_PARAMETERS) throw tooMuch('URL')
  return parameters.flatMap((parameter, at) => {
    if (at === 0) return [parameter] // the path
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(parameter) ?? []
    if (decoded(name) === allowed) return []
    if (NAMES.test(decoded(name))) throw refusal('URL')
    return value === '' ? [name] : [parameter, name, value]
  })
}

/** Returns a header's text and its named values, as in `a=KEY, b=2`. */
const partsOf = (text: string): string[] => [
  text,
  ...text.split(/[\s,;&]+/).flatMap((part) => (/^[^=]*=(.+)$/s.exec(part) ?? []).slice(1)),
]

/** Place of the key, for the error message. */
type Refused = 'URL' | 'header'

const tooMuch = (refused: Refused) =>
  new GatewayError('invalid_request', `The ${refused} has too many parts. Send fewer, or shorter ones.`)

const REASONS: Readonly<Record<Refused, string>> = {
  URL: 'A key in the URL is refused. Send it as `Authorization: Bearer KEY`, and replace it, because it may have been logged.',
  header:
    'A key in a header that is passed on to the provider is refused. Send it as `Authorization: Bearer KEY` only.',
}

const refusal = (refused: Refused) => new GatewayError('invalid_request', REASONS[refused])

/** Returns the caller's own keys, without an authentication scheme. */
const ownKeys = ({ authorization, ...headers }: IncomingHttpHeaders): string[] =>
  [
    authorization?.replace(/^\w+ +/, ''),
    headers['x-api-key'],
    headers['x-goog-api-key'],
    headers[GATEWAY_KEY_HEADER],
  ].flatMap((key) => (typeof key === 'string' && key.length >= MIN_LENGTH ? [key] : []))

/** Returns a string unchanged and at each level of decoding. */
function decodings(text: string): string[] {
  const all = [text]
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next = decoded(all.at(-1)!)
    if (next === all.at(-1)) break
    all.push(next)
  }
  return all
}

/**
 * Returns strings that could be a key: the whole string, its words, and joined segments, because keys may
 * contain slashes.
 */
function wordsOf(text: string): string[] {
  const words = WORDS.flatMap((words) => text.match(words) ?? [])
  const segments = text.split('/', MAX_SEGMENTS)
  const runs = segments.flatMap((_, from) =>
    segments.slice(from).map((_, more) => segments.slice(from, from + more + 1).join('/')),
  )
  return [text, ...words, ...runs]
}

/** Returns the base64-decoded content of a word, with and without a user name before it. */
function insideOf(word: string): string[] {
  const text = Buffer.from(word, 'base64').toString('latin1')
  return /^[\x20-\x7e]+$/.test(text) ? [text, text.replace(/^[^:]*:/, '')] : []
}

const isOfLength = ({ length }: string): boolean => length >= MIN_LENGTH && length <= MAX_LENGTH

/** Decodes each byte separately: keys are ASCII, and invalid UTF-8 must not stop the search. */
const decoded = (text: string): string =>
  text.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))

/**
 * Returns a guard. Clients may call the gateway by the address that it listens on, as `localhost`, by a
 * loopback address, or by a name in `allowedHosts`. If it listens on every address (`0.0.0.0` or `::`), any
 * IP address is a valid Host, because rebinding needs a name.
 *
 * A page may call the gateway from the origin that it calls, with the same scheme, name and port. Any other
 * port of this machine may belong to any user. Pages of an allowed host may also call, by http or https, on
 * the called port or the scheme's default port, because a proxy in front may use another port. Origins in
 * `allowedOrigins` must match exactly.
 */
export function createHostGuard(
  bind: string,
  allowedHosts: readonly string[],
  allowedOrigins: readonly string[],
): (request: IncomingMessage) => void {
  const trusted = new Set(allowedHosts.map((name) => name.toLowerCase()))
  const names = new Set(['localhost', '127.0.0.1', '::1', bind.toLowerCase(), ...trusted])
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))

  const everywhere = names.has('0.0.0.0') || names.has('::')
  const isOwn = (host: string) => names.has(host) || (everywhere && isIP(host) !== 0)
  const mayCall = (origin: string, host: string): boolean => {
    if (origin === `http://${host}` || origins.has(origin)) return true
    const [, name, port] = /^https?:\/\/(\[[^\]]+\]|[^/:@?#\s]+)(:\d+)?$/.exec(origin) ?? []
    if (name === undefined || !trusted.has(name)) return false
    return port === undefined || host.endsWith(`]${port}`) || /^[^:]+(:\d+)$/.exec(host)?.[1] === port
  }

  return ({ headers }) => {
    const host = (headers.host ?? '').toLowerCase()
    if (!isOwn(hostName(host)))
      throw new GatewayError(
        'host_not_allowed',
        'This Host is not allowed here; the operator can add it to server.allowed_hosts.',
      )
    const { origin } = headers
    // A link may be followed from any site, but a subresource without an Origin is refused.
    const isLoaded = headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate'
    if (origin === undefined ? isLoaded : !mayCall(origin.toLowerCase(), host))
      throw new GatewayError(
        'host_not_allowed',
        'Requests from this Origin are not allowed here; the operator can add it to server.allowed_origins.',
      )
  }
}

/** Returns the name in a Host header without the port and IPv6 brackets. */
const hostName = (host: string): string => /^\[(.+)\](:\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '')
