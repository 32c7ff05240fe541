// Answer before it is sent: its status, its headers, the parts of its body, the loop that sends them, and a Response with
// a chunk for each part, which is made only when it is read. Independent of providers and sockets.

import { guarded, stray } from '../src/shared/boundary.ts'
import { clock } from '../src/shared/clock.ts'
import type { Conclusion } from './deviations/read.ts'

/**
 * `bytes` is sent as one write. A gate holds everything after it until the gate is released. A wait holds
 * everything after it for that many ms.
 */
export type Part =
  | Uint8Array
  | { readonly gate: string }
  | { readonly wait: number }
  | { readonly end: 'cut' | 'reset' }

export interface MockAnswer {
  /** Source of the answer, see `LedgerAnswer`. */
  readonly from: string
  /** Null if no response headers are sent: the connection carries the parts only. */
  readonly status: number | null
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly parts: readonly Part[]
  /** What a right reader concludes, if the answer is a deviation. */
  readonly concludes?: Conclusion
}

/** Carries an answer to the client. */
export interface Outlet {
  /**
   * Sends bytes; the first bytes go after the headers. Resolves when the operating system of the other side
   * has accepted them.
   */
  write(bytes: Uint8Array): Promise<void>
  /** Ends the body normally. Resolves when the other side has been notified. */
  end(): Promise<void>
  /** Ends the connection in the middle of the body, or resets it. */
  cut(): void
  reset(): void
}

/** Events while an answer is sent. */
interface Progress {
  /** Called when `bytes` were accepted, with the time at which they were handed over. */
  sent(bytes: Uint8Array, at: number): void
  completed(): void
  /** Called when the mock ends the connection early because the answer requires it. */
  cut(): void
}

/** Conditions for which an answer waits. `gone` is aborted when the client has left. */
export interface Waiting {
  gate(name: string, gone: AbortSignal): Promise<unknown>
  readonly gone: AbortSignal
}

/** Sends an answer until it has ended or the receiver has left. Does not reject when the receiver leaves. */
export async function perform(
  { parts }: MockAnswer,
  outlet: Outlet,
  { gate, gone }: Waiting,
  progress: Progress,
): Promise<void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      const at = clock.monotonic()
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

/** Waits that many ms (`Infinity`: forever), but stops when `gone` is aborted. */
async function pause(ms: number, gone: AbortSignal): Promise<void> {
  if (ms === Number.POSITIVE_INFINITY || gone.aborted) return whenAborted(gone)
  await new Promise<void>((resolve) => {
    const end = () => {
      timer.close()
      gone.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.after(ms, end)
    gone.addEventListener('abort', end)
  })
}

/** Resolves when the signal is aborted. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })

/** Returns the headers, with a content length if the body's length is known, otherwise with chunked encoding. */
export function framed({ headers, parts }: MockAnswer): Record<string, string> {
  if ('content-length' in headers || 'transfer-encoding' in headers) return { ...headers }
  const [only, ...others] = parts.filter((part) => !('wait' in part)) // a wait changes no framing
  const length =
    only === undefined ? 0 : only instanceof Uint8Array && others.length === 0 ? only.length : null
  return length === null
    ? { ...headers, 'transfer-encoding': 'chunked' }
    : { ...headers, 'content-length': String(length) }
}

const encoder = new TextEncoder()

/** Encodes text as UTF-8. */
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)

/** Returns a whole answer: text unchanged, anything else as JSON. */
export function wholeAnswer(
  from: string,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): MockAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return { from, status, headers: { 'content-type': type, ...headers }, parts: [bytesOf(text)] }
}

/**
 * Events of the answer, see `Progress`. `peerLeft` is called when the reader cancels, `done` when the answer
 * has ended.
 */
export interface Notes extends Progress {
  peerLeft(): void
  done(): void
}

/** Statuses without a body. */
const BODILESS = [204, 205, 304]

/**
 * Resolves when the headers are due; they are sent with the first bytes. A broken connection causes a network
 * error before the headers, and an error of the body afterwards.
 */
export function respond(
  { answer, note }: { readonly answer: MockAnswer; readonly note: Notes },
  { gate, gone }: Waiting,
): Promise<Response> {
  const { status } = answer
  const { promise, resolve } = Promise.withResolvers<Response>()
  const body = new TransformStream<Uint8Array, Uint8Array>()
  const writer = body.writable.getWriter()
  const over = new AbortController()
  const leave = () => {
    if (over.signal.aborted) return
    note.peerLeft()
    over.abort()
    resolve(Response.error())
  }
  writer.closed.catch(leave)
  gone.addEventListener('abort', guarded(leave, stray), { once: true, signal: over.signal })
  if (gone.aborted) leave()

  let headSent = false
  const head = () => {
    if (status === null || headSent) return
    headSent = true
    const shown = BODILESS.includes(status) ? null : body.readable
    resolve(new Response(shown, { status, headers: framed(answer) }))
  }
  const broken = () => {
    note.cut()
    over.abort() // the mock ended the connection, not the client
    resolve(Response.error())
    writer.abort(new Error('The provider broke the connection.')).catch(() => {})
  }
  const outlet: Outlet = {
    async write(bytes) {
      if (status === null) return broken() // bytes other than HTTP cause a network error in a client
      head()
      if (bytes.length > 0 && !BODILESS.includes(status)) await writer.write(bytes).catch(leave)
    },
    async end() {
      head()
      await writer.close().catch(leave)
    },
    cut: broken,
    reset: broken,
  }
  perform(answer, outlet, { gate, gone: over.signal }, note).catch(leave).finally(note.done)
  return promise
}
