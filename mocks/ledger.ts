// What the witness saw: one entry for each request, in the order in which they had fully arrived. Types only; plain JSON,
// because the same entries are read over the control port and kept as evidence. Times are ms since the epoch, with fractions.

/** What a request was for. Token counts and metadata cost nothing, so they are counted apart from inferences. */
export type RequestKind = 'inference' | 'token_count' | 'metadata'

/** How a request was answered, as far as it has been. */
export interface LedgerAnswer {
  /** The scenario; the recording (`openai/chat-plain`); `script` for an answer that was spelt out; `refusal`; `no recording`. */
  readonly from: string
  /** Null until the head left. */
  readonly status: number | null
  readonly first_byte_at: number | null
  readonly last_byte_at: number | null
  /** Whether everything was sent that was meant to be; false for a cut, a reset, or a peer that left. */
  readonly complete: boolean
  /** When the witness itself ended the connection in the middle, as the answer says; null when it did not. */
  readonly cut_at: number | null
  /** Bytes of the body that the other side's system has taken. */
  readonly bytes: number
  /** The body that was sent, as text; null where it is no UTF-8 or longer than 256 KiB. */
  readonly body: string | null
}

export interface LedgerEntry {
  /** 1, 2, 3 …; never used again after the ledger was cleared. */
  readonly n: number
  readonly kind: RequestKind
  /** When its head arrived. */
  readonly at: number
  readonly provider: string
  readonly method: string
  /** As it arrived, without the query. */
  readonly path: string
  /** The path below the provider's base path, without a slash in front: `chat/completions`. */
  readonly endpoint: string
  readonly model: string | null
  readonly stream: boolean
  /** The nonce found in the request's text, see `nonceIn`. */
  readonly nonce: string | null
  /** Whether the provider's own key was shown. The credential itself is never kept. */
  readonly credential: 'match' | 'mismatch' | 'absent'
  /** Names of the planted secrets that were found anywhere in the request: head, query or body. */
  readonly canaries: readonly string[]
  /** What the provider finds wrong, also what it lets pass (`unknown field: NAME`); empty for a valid request. */
  readonly problems: readonly string[]
  /** Lower-case names; the values of credentials are `***`. */
  readonly headers: Readonly<Record<string, string>>
  /** The request as JSON, planted secrets and known keys masked; null where it had none. */
  readonly body: unknown
  readonly answer: LedgerAnswer
  /** When the other side closed the connection before the answer was complete; null when it did not. */
  readonly peer_left_at: number | null
}

/** What `GET /ledger` answers. */
export interface LedgerPage {
  /** Entries with `n` greater than `since`. */
  readonly entries: readonly LedgerEntry[]
  /** TCP connections accepted so far, used or not. */
  readonly connections: number
  /** The witness's clock at the time of the answer. */
  readonly now: number
}

/** What a nonce looks like: 16 hex digits behind a word that no prompt holds by accident. */
const NONCE = /waybill-nonce-([0-9a-f]{16})/

/** The ledger's clock. */
export const now = (): number => performance.timeOrigin + performance.now()

/** The first nonce in a text, without the word in front of it. */
export const nonceIn = (text: string): string | null => NONCE.exec(text)?.[1] ?? null

/** How a nonce is written into a prompt. */
export const writeNonce = (nonce: string): string => `waybill-nonce-${nonce}`
