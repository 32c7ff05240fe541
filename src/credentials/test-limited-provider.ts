// A provider for tests with a request limit for each key in a window. It reports the limits in the headers of
// every answer, as OpenAI does. It counts the requests of each key, and every 429.
import { answer, fail, type Script } from '../../mocks/test-upstream.ts'

interface Limited {
  readonly script: Script
  /** Number of requests by key, including refused requests. */
  readonly requests: ReadonlyMap<string, number>
  readonly refused: () => number
  /** Keys of each session, in order and without repetition. */
  readonly keysOf: ReadonlyMap<string, readonly string[]>
}

export function limitedProvider(limit: number, windowMs: number, now = Date.now): Limited {
  const windows = new Map<string, { used: number; endsAt: number }>()
  const requests = new Map<string, number>()
  const keysOf = new Map<string, string[]>()
  let refused = 0
  const script: Script = (response, received) => {
    const key = String(received.headers.authorization).replace('Bearer ', '')
    requests.set(key, (requests.get(key) ?? 0) + 1)
    const session = String(received.json.user ?? '')
    const keys = keysOf.get(session) ?? []
    if (keys.at(-1) !== key) keys.push(key)
    keysOf.set(session, keys)
    const at = now()
    const known = windows.get(key)
    const current = known && known.endsAt > at ? known : { used: 0, endsAt: at + windowMs }
    windows.set(key, current)
    current.used++
    const resets = `${Math.max(current.endsAt - at, 1)}ms`
    response.setHeader('x-ratelimit-limit-requests', String(limit))
    response.setHeader('x-ratelimit-remaining-requests', String(Math.max(limit - current.used, 0)))
    response.setHeader('x-ratelimit-reset-requests', resets)
    if (current.used <= limit) return answer()(response, received)
    refused++
    fail(
      429,
      { 'retry-after': String((current.endsAt - at) / 1_000) },
      { code: 'rate_limit_exceeded' },
    )(response, received)
  }
  return { script, requests, refused: () => refused, keysOf }
}
