// Storage of the ledger: an entry is written when a request arrives and completed while it is answered. Reading masks
// every secret. Independent of providers and transports.
import { after, stray } from '../../src/shared/boundary.ts'
import { clock } from '../../src/shared/clock.ts'
import { parseWithDigits } from '../../src/shared/exact-json.ts'
import { createMask } from '../../src/shared/redact.ts'
import type { MockAnswer, Notes } from '../answer.ts'
import type { LedgerAnswer, LedgerEntry, RequestKind } from '../ledger.ts'
import type { Wants } from '../provider.ts'
import { CREDENTIAL_HEADERS, CREDENTIAL_PARAMETER, type Secrets } from './secrets.ts'
import type { Validation } from './validate.ts'

type Writable<Shape> = { -readonly [Key in keyof Shape]: Shape[Key] }

/** Entry under construction. Bodies are stored unchanged; reading turns them into text and masks them. */
interface OpenEntry extends Writable<Omit<LedgerEntry, 'n' | 'body' | 'answer'>> {
  text: string
  answer: Writable<Omit<LedgerAnswer, 'body'>> & { sent: Uint8Array[] }
}

interface LedgerBook {
  /** Adds an entry, which may be completed later. */
  enter(entry: OpenEntry): void
  /** Returns entries with a greater `n`, in order. */
  entries(since?: number): LedgerEntry[]
  /** Resolves with the first entry with the nonce; rejects if no such entry arrives in time. */
  seen(nonce: string, timeoutMs: number): Promise<LedgerEntry>
  clear(): void
}

/**
 * Approximate maximum bytes. Beyond this size the older half is dropped, so that a mock that is never cleared
 * does not fill the memory.
 */
const MAX_LEDGER_BYTES = 256 * 1024 * 1024
/** Entries between two measurements of the total size. */
const ENTRIES_PER_MEASUREMENT = 256

/** Maximum bytes stored of an answer; more bytes are only counted. */
const KEPT_BYTES = 256 * 1024

export function createLedgerBook({ mask }: Pick<Secrets, 'mask'>, limit = MAX_LEDGER_BYTES): LedgerBook {
  let book: OpenEntry[] = []
  let dropped = 0
  const watchers = new Set<(entry: OpenEntry, n: number) => void>()
  const numberOf = (index: number): number => dropped + index + 1
  const read = (entry: OpenEntry, n: number): LedgerEntry => {
    const { text, answer, ...rest } = entry
    const { sent, ...told } = answer
    return {
      n,
      ...rest,
      path: mask(rest.path),
      query: mask(rest.query),
      endpoint: mask(rest.endpoint),
      model: rest.model && mask(rest.model),
      problems: rest.problems.map(mask),
      headers: Object.fromEntries(Object.entries(rest.headers).map(([name, value]) => [name, mask(value)])),
      body: text === '' ? null : parse(mask(text)),
      answer: { ...told, body: told.bytes > KEPT_BYTES ? null : maskNull(mask, textOf(sent)) },
    }
  }

  return {
    enter(entry) {
      book.push(entry)
      if (
        book.length % ENTRIES_PER_MEASUREMENT === 0 &&
        book.reduce((sum, one) => sum + weightOf(one), 0) > limit
      ) {
        const half = book.length >> 1
        dropped += half
        book = book.slice(half)
      }
      for (const watcher of watchers) watcher(entry, numberOf(book.length - 1))
    },

    entries(since = 0) {
      const from = Math.max(0, since - dropped)
      return book.slice(from).map((entry, index) => read(entry, numberOf(from + index)))
    },

    seen(nonce, timeoutMs) {
      const index = book.findIndex((entry) => entry.nonce === nonce)
      if (index >= 0) return Promise.resolve(read(book[index]!, numberOf(index)))
      return new Promise((resolve, reject) => {
        const watcher = (entry: OpenEntry, n: number) => {
          if (entry.nonce !== nonce) return
          done()
          resolve(read(entry, n))
        }
        const late = () => {
          done()
          reject(new Error(`no request with the nonce ${nonce} arrived within ${timeoutMs} ms`))
        }
        const timer = after(timeoutMs, late, stray)
        const done = () => {
          timer.close()
          watchers.delete(watcher)
        }
        watchers.add(watcher)
      })
    },

    clear() {
      dropped += book.length
      book = []
    },
  }
}

const weightOf = ({ text, answer }: OpenEntry): number =>
  2048 + text.length + Math.min(answer.bytes, KEPT_BYTES)

const decoder = new TextDecoder('utf-8', { fatal: true })

function textOf(pieces: readonly Uint8Array[]): string | null {
  try {
    return decoder.decode(Buffer.concat(pieces))
  } catch {
    return null
  }
}

const maskNull = (mask: (text: string) => string, text: string | null): string | null => text && mask(text)

/** Parses a body. A body that is not JSON, or is nested too deeply to be written again, stays text. */
function parse(text: string): unknown {
  try {
    const json = parseWithDigits(text)
    if ((text.match(/[[{]/g)?.length ?? 0) > 1000) JSON.stringify(json)
    return json
  } catch {
    return text
  }
}

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
