// What was seen of a call while it happened, for its artifact: methods, paths, sizes, times, harmless headers. Cheap
// to note, and put into words only when the artifact is written. Bodies are noted only where the operator asked.
import type { IncomingHttpHeaders } from 'node:http'
import type { Call, CallOutcome, Target } from './call.ts'
import { createMask, type Mask, maskBody } from './redact.ts'

/** Headers whose values are shown; of all others only the names are. */
const SHOWN =
  /^(accept|accept-encoding|cache-control|content-encoding|content-length|content-type|date|retry-after|retry-after-ms|transfer-encoding|user-agent|x-request-id|x-should-retry|x-ratelimit-.+|[a-z]+-(processing-ms|version))$/

/** Chunks of an answer whose times are noted. */
const MOST_CHUNKS = 500
/** Fields of a request whose names are noted; what is longer than `LONGEST_FIELD` characters is no name. */
const MOST_FIELDS = 100
const LONGEST_FIELD = 256
/** Bytes of a body that are noted. */
const MOST_BODY = 4 * 2 ** 20

/** A provider's answer, as it comes in. */
export class AnswerTrace {
  readonly #bodies: boolean
  readonly #start: number
  #response: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly at: number } | null =
    null
  /** Time and size in turn. */
  readonly #chunks: number[] = []
  readonly #body: Buffer[] = []
  #count = 0
  #bytes = 0
  #end: { readonly how: string; readonly at: number } | null = null

  constructor(bodies: boolean, start: number) {
    this.#bodies = bodies
    this.#start = start
  }

  responseStarted(status: number, headers: IncomingHttpHeaders): void {
    this.#response = { status, headers, at: since(this.#start) }
  }

  chunk(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (++this.#count <= MOST_CHUNKS) this.#chunks.push(since(this.#start), chunk.length)
    if (this.#bodies && this.#bytes <= MOST_BODY) this.#body.push(chunk)
  }

  /** `complete`, or why the answer ended before. */
  end(how: string): void {
    this.#end = { how, at: since(this.#start) }
  }

  /** Bytes of memory that it holds on to. */
  get weight(): number {
    return this.#bodies ? Math.min(this.#bytes, MOST_BODY) : 0
  }

  describe(mask: Mask): object {
    const chunks = []
    for (let index = 0; index < this.#chunks.length; index += 2)
      chunks.push({ at_ms: this.#chunks[index], bytes: this.#chunks[index + 1] })
    return {
      status: this.#response?.status ?? null,
      at_ms: this.#response?.at ?? null,
      headers: shown(this.#response?.headers ?? {}, mask),
      bytes: this.#bytes,
      chunks,
      chunks_left_out: this.#count - chunks.length,
      end: this.#end && mask(this.#end.how),
      ended_at_ms: this.#end?.at ?? null,
      ...(this.#bodies && { body: maskBody(Buffer.concat(this.#body).toString('utf8'), mask) }),
    }
  }
}

/** By name, or names and values in turn. They are kept as they are, and read only when an artifact is made. */
type Headers = IncomingHttpHeaders | readonly string[]

/** A request, as it came or as it is about to leave. */
interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly bytes: number
  readonly body: string | null
}

/** A call from its arrival to its end. */
export class CallTrace {
  readonly #call: Call
  readonly #bodies: boolean
  readonly #start: number
  readonly #client: SeenRequest
  readonly #fields: readonly string[]
  readonly #exchanges: { target: Target; at: number; request: SeenRequest; answer: AnswerTrace }[] = []

  /** `start`: when the call arrived, by the clock of `performance`. */
  constructor(
    call: Call,
    headers: IncomingHttpHeaders,
    { text, json }: { readonly text: string; readonly json: Readonly<Record<string, unknown>> },
    bodies: boolean,
    start: number,
  ) {
    this.#call = call
    this.#bodies = bodies
    this.#start = start
    this.#client = this.#seen(call.endpoint, headers, text)
    this.#fields = Object.keys(json)
      .filter(({ length }) => length <= LONGEST_FIELD)
      .slice(0, MOST_FIELDS)
  }

  /** A request is about to leave; the trace that is returned is to be told what comes back. */
  exchange(target: Target, path: string, headers: readonly string[], body: string): AnswerTrace {
    const answer = new AnswerTrace(this.#bodies, this.#start)
    this.#exchanges.push({ target, at: since(this.#start), request: this.#seen(path, headers, body), answer })
    return answer
  }

  /** Bytes of memory that it holds on to. */
  get weight(): number {
    let bytes = this.#client.body?.length ?? 0
    for (const { request, answer } of this.#exchanges) bytes += (request.body?.length ?? 0) + answer.weight
    return bytes
  }

  /**
   * Returns what makes the artifact as JSON text, without anything that `mask` knows and without the client's own key,
   * which a provider may repeat. It holds on to this trace and to nothing else of the call, because it may wait for a
   * while.
   */
  ended(outcome: CallOutcome, mask: Mask): () => string {
    return () => {
      const maskKey = createMask(credentials(this.#client.headers))
      return this.#toJson(outcome, (text) => maskKey(mask(text)))
    }
  }

  #toJson({ state, status, errorCode, latencyMs, ttftMs }: CallOutcome, mask: Mask): string {
    const { id, createdAt } = this.#call
    return JSON.stringify({
      id,
      created_at: new Date(createdAt).toISOString(),
      request: { ...describe(this.#client, mask), fields: this.#fields.map(mask) },
      exchanges: this.#exchanges.map(({ target, at, request, answer }, index) => ({
        n: index + 1,
        provider: target.provider,
        model: mask(target.model),
        at_ms: at,
        request: describe(request, mask),
        answer: answer.describe(mask),
      })),
      outcome: { state, status, error_code: errorCode, latency_ms: latencyMs, ttft_ms: ttftMs },
    })
  }

  #seen(path: string, headers: Headers, text: string): SeenRequest {
    const body = this.#bodies && text.length <= MOST_BODY ? text : null
    return { method: 'POST', path, headers, bytes: Buffer.byteLength(text), body }
  }
}

const describe = ({ method, path, headers, bytes, body }: SeenRequest, mask: Mask) => ({
  method,
  path: mask(path),
  headers: shown(headers, mask),
  bytes,
  ...(body !== null && { body: maskBody(body, mask) }),
})

function pairsOf(headers: Headers): [name: string, value: unknown][] {
  if (!Array.isArray(headers)) return Object.entries(headers)
  return headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1]]] : []))
}

/** What a client shows as its key, with and without the scheme before it. */
const credentials = (headers: Headers): string[] =>
  pairsOf(headers)
    .filter(([name]) => /^(authorization|x-api-key|x-goog-api-key)$/.test(name))
    .map(([, value]) => String(value).replace(/^\w+ +/, ''))

const since = (start: number): number => Math.round((performance.now() - start) * 100) / 100

/** The values of harmless headers; null for every other name. */
const shown = (headers: Headers, mask: Mask): Record<string, string | null> =>
  Object.fromEntries(
    pairsOf(headers).map(([name, value]) => [mask(name), SHOWN.test(name) ? mask(String(value)) : null]),
  )
