// Limits the answers that the clouds' own libraries read when they fetch credentials. The libraries read any number of
// bytes, and go on when nobody waits any more.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { guarded, once, signalAfter, stray } from '../shared/boundary.ts'

/** Maximum size of an answer, bytes. Answers with a token have a few thousand. */
const MAX_ANSWER_BYTES = 2 ** 20

const limits = new AsyncLocalStorage<AbortSignal>()

/** Limits a request of Node's HTTP client, if it belongs to a fetch. Requests of other code are not changed. */
function limit(message: unknown): void {
  const signal = limits.getStore()
  if (!signal) return
  const { request } = message as { readonly request: ClientRequest }
  if (!request.headersSent) request.setHeader('accept-encoding', 'identity')
  const stop = () => void request.destroy(new Error('the time is over'))
  if (signal.aborted) stop()
  const abort = new AbortController()
  signal.addEventListener('abort', guarded(stop, stray), { once: true, signal: abort.signal })
  once(request, 'close', () => abort.abort(), stray)
  once(request, 'response', limitSize, stray)
}

/**
 * Destroys an answer that is too long, or compressed, because a library would make it a thousand times longer. A
 * listener for `data` would take the bytes from the library.
 */
function limitSize(answer: IncomingMessage): void {
  if (!/^(identity)?$/i.test(answer.headers['content-encoding'] ?? ''))
    answer.destroy(new Error('the answer is compressed'))
  let size = 0
  const push = answer.push.bind(answer)
  answer.push = (piece: Buffer | null, encoding) => {
    size += piece?.length ?? 0
    if (size <= MAX_ANSWER_BYTES) return push(piece, encoding)
    answer.destroy(new Error('the answer is too long'))
    return false
  }
}

let isSubscribed = false

/** Runs code of a library. Its HTTP requests end after `ms`, or when an answer is longer than `MAX_ANSWER_BYTES`. */
export function withBoundedAnswers<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  if (!isSubscribed) subscribe('http.client.request.created', limit)
  isSubscribed = true
  return limits.run(signalAfter(ms), work)
}

/** Requests JSON for a library that has `fetch` replaced. No redirect is followed, because the request has a secret. */
export async function fetchJson(
  url: string,
  init: { readonly method: string; readonly headers?: Record<string, string>; readonly body?: string },
): Promise<{ headers: Record<string, string>; body: unknown; status: number }> {
  const signal = limits.getStore() ?? null
  const answer = await fetch(url, { ...init, redirect: 'error', signal })
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body ?? []) {
    size += piece.length
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too long') // which cancels it
    pieces.push(piece)
  }
  const body: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'))
  return { headers: Object.fromEntries(answer.headers), body, status: answer.status }
}
