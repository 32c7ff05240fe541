// One entry of the ledger: created when a request arrives, and updated while the answer is sent. Independent
// of providers and transports.
import { clock } from '../../src/shared/clock.ts'
import { createMask } from '../../src/shared/redact.ts'
import type { MockAnswer } from '../answer.ts'
import type { RequestKind } from '../ledger.ts'
import type { Wants } from '../provider.ts'
import { KEPT_BYTES, type OpenEntry } from './ledger-book.ts'
import type { Notes } from './respond.ts'
import { CREDENTIAL_HEADERS, CREDENTIAL_PARAMETER } from './secrets.ts'
import type { Validation } from './validate.ts'

/** Result of a request's validation. */
export interface Noted {
  readonly kind: RequestKind
  readonly at: number
  readonly provider: string
  readonly method: string
  readonly path: string
  readonly query: string
  readonly endpoint: string
  readonly wants: Wants
  readonly nonce: string | null
  readonly verdict: Validation
  readonly canaries: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body_sha256: string
  /** Credential of the request, which is never stored. */
  readonly shown: string | null
  readonly answer: MockAnswer
}

export function openEntry({ wants, verdict, shown, answer, ...noted }: Noted): OpenEntry {
  const hide = createMask(shown === null ? [] : [shown])
  const headers = Object.entries(noted.headers).map(([name, value]) => [
    name,
    CREDENTIAL_HEADERS.includes(name) ? '***' : hide(value),
  ])
  return {
    ...noted,
    model: wants.model,
    stream: wants.stream,
    credential: verdict.credential,
    problems: verdict.problems,
    headers: Object.fromEntries(headers),
    query: hide(noted.query.replace(CREDENTIAL_PARAMETER, '$1***')),
    text: hide(noted.text),
    answer: {
      from: answer.from,
      status: null,
      first_byte_at: null,
      last_byte_at: null,
      complete: false,
      cut_at: null,
      bytes: 0,
      sent: [],
      ...(answer.concludes && { concludes: answer.concludes }),
    },
    peer_left_at: null,
  }
}

/** Returns callbacks that update the entry. `done` is called when the answer has ended. */
export function notesOn(entry: OpenEntry, { status }: MockAnswer, done: () => void): Notes {
  const { answer } = entry
  return {
    sent(bytes, at) {
      answer.status = status
      answer.first_byte_at ??= at
      answer.last_byte_at = at
      answer.bytes += bytes.length
      if (answer.bytes <= KEPT_BYTES) answer.sent.push(bytes)
      else answer.sent = []
    },
    completed() {
      answer.status = status
      answer.complete = true
    },
    cut() {
      answer.cut_at ??= clock.monotonic()
    },
    peerLeft() {
      if (!answer.complete) entry.peer_left_at ??= clock.monotonic()
    },
    done,
  }
}
