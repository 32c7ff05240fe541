// An answer before it is sent: a head, and the parts that follow it one by one; and how it is walked through, independent of
// the transport. Knows no provider, no socket and no Response; two files send it: respond.ts inside this process,
// witness-server.ts over a connection.
import { setTimeout as sleep } from 'node:timers/promises'
import { now } from './ledger.ts'

/** Bytes are one write each. A gate holds what follows until it is released, a wait for that many ms. */
export type Part =
  | Uint8Array
  | { readonly gate: string }
  | { readonly wait: number }
  | { readonly end: 'cut' | 'reset' }

export interface Answer {
  /** What it was made from, see `LedgerAnswer`. */
  readonly from: string
  /** Null: there is no head, and the parts are what the connection carries. */
  readonly status: number | null
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly parts: readonly Part[]
}

/** Carries an answer to whoever asked. */
export interface Outlet {
  /** Sends bytes, behind the head when they are the first. Resolves when the other side's system has taken them. */
  write(bytes: Uint8Array): Promise<void>
  /** Ends the body as it should end. Resolves when that is told. */
  end(): Promise<void>
  /** Ends the connection in the middle of the body, or resets it. */
  cut(): void
  reset(): void
}

/** What is told of an answer while it goes out. */
export interface Progress {
  /** `bytes` were taken; they were handed over `at` that time. */
  sent(bytes: Uint8Array, at: number): void
  completed(): void
  /** We end the connection in the middle, because the answer says so. */
  cut(): void
}

/** What an answer waits for. `gone` is aborted when the other side has left. */
export interface Waiting {
  gate(name: string, gone: AbortSignal): Promise<unknown>
  readonly gone: AbortSignal
}

/** Walks through an answer until it has ended, or until the receiver has gone. Never rejects for the latter. */
export async function perform(
  { parts }: Answer,
  outlet: Outlet,
  { gate, gone }: Waiting,
  progress: Progress,
): Promise<void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      const at = now()
      await outlet.write(part)
      if (!gone.aborted) progress.sent(part, at)
    } else if ('wait' in part) await pause(part.wait, gone)
    else if ('gate' in part) await gate(part.gate, gone)
    else {
      progress.cut()
      return outlet[part.end]()
    }
    if (gone.aborted) return
  }
  await outlet.end()
  if (!gone.aborted) progress.completed()
}

/** Waits that many ms, or for ever when it is `Infinity`; in any case no longer than until `gone`. */
async function pause(ms: number, gone: AbortSignal): Promise<void> {
  if (ms === Number.POSITIVE_INFINITY) return aborted(gone)
  await sleep(ms, undefined, { signal: gone }).catch(() => {})
}

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })

/** The headers with what tells the end of the body: its length where it is known, else chunks. */
export function framed({ headers, parts }: Answer): Record<string, string> {
  if ('content-length' in headers || 'transfer-encoding' in headers) return { ...headers }
  const [only, ...others] = parts
  const length =
    only === undefined ? 0 : only instanceof Uint8Array && others.length === 0 ? only.length : null
  return length === null
    ? { ...headers, 'transfer-encoding': 'chunked' }
    : { ...headers, 'content-length': String(length) }
}

const encoder = new TextEncoder()

/** UTF-8. */
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)

/** A whole answer: text as it is, anything else as JSON. */
export function wholeAnswer(
  from: string,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return { from, status, headers: { 'content-type': type, ...headers }, parts: [bytesOf(text)] }
}
