// Ledger of the mock: one entry for each request, in the order in which requests arrived completely. Plain
// JSON, because the entries are also read over the control port and stored as evidence. Times are ms since
// the epoch, with fractions.

import { countsTokens, isInference } from '../src/shared/spending.ts'
import type { Conclusion } from './deviations/read.ts'

/**
 * Purpose of a request. Token counts and metadata are free, so they are counted separately from inferences.
 */
export type RequestKind = 'inference' | 'token_count' | 'metadata'

/** Returns the purpose of a request. `path`: below the provider's base path. */
export const requestKindOf = (method: string, path: string): RequestKind =>
  isInference(method, path) ? 'inference' : countsTokens(method, path) ? 'token_count' : 'metadata'

/** Answer to a request, as far as it has been sent. */
export interface LedgerAnswer {
  /**
   * Scenario (`deviation:chat/id-per-fragment` is one), recording (`openai/chat-plain`), `script` for an explicit answer, `refusal`, or `no recording`.
   */
  readonly from: string
  /** Status of the answer; null until the headers are sent. */
  readonly status: number | null
  readonly first_byte_at: number | null
  readonly last_byte_at: number | null
  /** True if the whole answer was sent. False after a cut or a reset, or if the client left. */
  readonly complete: boolean
  /** Time at which the mock ended the connection early because the answer asked for it, or null. */
  readonly cut_at: number | null
  /** Bytes of the body that the client's system has accepted. */
  readonly bytes: number
  /** Body that was sent, as text; null if it is not UTF-8 or longer than 256 KiB. */
  readonly body: string | null
  /** What a right reader concludes; only for a deviation, in the words of `deviations/README.md`. */
  readonly concludes?: Conclusion
}

export interface LedgerEntry {
  /** Sequence number from 1; not reused after the ledger is cleared. */
  readonly n: number
  readonly kind: RequestKind
  /** Time at which the request's headers arrived. */
  readonly at: number
  readonly provider: string
  readonly method: string
  /** Path as received, without the query. */
  readonly path: string
  /** Query after the question mark, with masked credentials; empty without a query. */
  readonly query: string
  /** Path below the provider's base path, without a leading slash: `chat/completions`. */
  readonly endpoint: string
  readonly model: string | null
  readonly stream: boolean
  /** Nonce in the request's text, see `nonceIn`. */
  readonly nonce: string | null
  /** Result of the comparison with the provider's key. The credential itself is never stored. */
  readonly credential: 'match' | 'mismatch' | 'absent'
  /** Names of the planted secrets found in the request: headers, query or body. */
  readonly canaries: readonly string[]
  /**
   * Problems that the provider sees, including problems that it tolerates (`unknown field: NAME`); empty for
   * a valid request.
   */
  readonly problems: readonly string[]
  /** Headers with lower-case names; the values of credentials are `***`. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Body as JSON, with planted secrets and known keys masked; null without a body. An integer that a double
   * cannot hold is a string of its digits.
   */
  readonly body: unknown
  /** SHA-256 of the body as received, hexadecimal, even if the body is not JSON. */
  readonly body_sha256: string
  readonly answer: LedgerAnswer
  /** Time at which the client closed the connection before the end of the answer, or null. */
  readonly peer_left_at: number | null
}

/** Response of `GET /ledger`. */
export interface LedgerPage {
  /** Entries with `n` greater than `since`. */
  readonly entries: readonly LedgerEntry[]
  /** TCP connections accepted so far, used or not. */
  readonly connections: number
  /** Time on the mock's clock when the answer was made. */
  readonly now: number
}

/** Pattern of a nonce: 16 hex digits after a word that no prompt contains by accident. */
const NONCE = /waybill-nonce-([0-9a-f]{16})/

/** Returns the first nonce in a text, without the word before it. */
export const nonceIn = (text: string): string | null => NONCE.exec(text)?.[1] ?? null

/** Returns the last nonce in a text, because the first nonces of a conversation belong to earlier turns. */
export const lastNonceIn = (text: string): string | null =>
  nonceIn(text.slice(Math.max(0, text.lastIndexOf('waybill-nonce-'))))

/** Formats a nonce for a prompt. */
export const writeNonce = (nonce: string): string => `waybill-nonce-${nonce}`
