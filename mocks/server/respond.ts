// Turns an answer into a Response, for interception and other uses without a connection. Each part is one
// chunk of the body, made only when it is read.

import { guarded, stray } from '../../src/shared/boundary.ts'
import { framed, type MockAnswer, type Outlet, type Progress, perform, type Waiting } from '../answer.ts'

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
