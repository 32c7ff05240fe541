// Observations of a call for its artifact: methods, paths, sizes, times, harmless headers. Collecting them is
// cheap; they are formatted only when the artifact is written. Bodies are included only if the operator
// enabled them.
import type { IncomingHttpHeaders } from 'node:http'
import { BytePieces } from '../shared/byte-pieces.ts'
import { clock } from '../shared/clock.ts'
import { createMask, type Mask } from '../shared/redact.ts'
import type { Call, CallOutcome, Target } from './call.ts'

/** Headers that are shown with their values. Other headers appear by name only. */
const SHOWN =
  /^(accept|accept-encoding|cache-control|content-encoding|content-length|content-type|date|retry-after|retry-after-ms|transfer-encoding|user-agent|x-request-id|x-should-retry|x-ratelimit-.+|[a-z]+-(processing-ms|version))$/

/** Maximum chunks of an answer for which times are recorded. */
const MAX_CHUNKS = 500
/** Maximum recorded field names of a request. Texts longer than `MAX_FIELD_LENGTH` do not count as names. */
const MAX_FIELDS = 100
const MAX_FIELD_LENGTH = 256
/** Maximum recorded bytes of a body. */
const MAX_BODY_BYTES = 4 * 2 ** 20

/**
 * Headers by name, or as a list of alternating names and values. Stored unchanged; only an artifact reads them.
 */
type Headers = IncomingHttpHeaders | readonly string[]

/**
 * One request to a provider and its arriving answer. A flat object, because traces outlive their calls and
 * the garbage collector copies everything that survives.
 */
export class AnswerTrace {
  readonly target: Target
  readonly #path: string
  readonly #headers: readonly string[]
  readonly #requestBytes: number
  readonly #requestBody: string | null
  readonly #bodies: boolean
  readonly #start: number
  readonly #sentAt: number
  #status: number | null = null
  #responseHeaders: IncomingHttpHeaders | null = null
  #respondedAt: number | null = null
  /** Times and sizes of the chunks, alternating. */
  readonly #chunks: number[] = []
  #body: BytePieces | null = null
  #count = 0
  #bytes = 0
  #how: string | null = null
  #endedAt: number | null = null

  constructor(
    target: Target,
    path: string,
    headers: readonly string[],
    body: string | Buffer,
    bodies: boolean,
    start: number,
  ) {
    this.target = target
    this.#path = path
    this.#headers = headers
    this.#requestBytes = Buffer.byteLength(body)
    this.#requestBody = bodies ? noted(String(body)) : null
    this.#bodies = bodies
    this.#start = start
    this.#sentAt = elapsedSince(start)
  }

  responseStarted(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#responseHeaders = headers
    this.#respondedAt = elapsedSince(this.#start)
  }

  chunk(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (++this.#count <= MAX_CHUNKS) this.#chunks.push(elapsedSince(this.#start), chunk.length)
    if (this.#bodies && this.#bytes <= MAX_BODY_BYTES) {
      this.#body ??= new BytePieces()
      this.#body.add(chunk)
    }
  }

  /** Ends the trace. `how`: `complete`, or the reason for an early end. */
  end(how: string): void {
    this.#how = how
    this.#endedAt = elapsedSince(this.#start)
  }

  /** Retained memory, in bytes. */
  get weight(): number {
    return (this.#requestBody?.length ?? 0) + (this.#bodies ? Math.min(this.#bytes, MAX_BODY_BYTES) : 0)
  }

  describe(n: number, mask: Mask): object {
    const chunks = []
    for (let index = 0; index < this.#chunks.length; index += 2)
      chunks.push({ at_ms: this.#chunks[index], bytes: this.#chunks[index + 1] })
    return {
      n,
      provider: this.target.provider,
      model: mask(this.target.model),
      at_ms: this.#sentAt,
      request: describe(this.#path, this.#headers, this.#requestBytes, this.#requestBody, mask),
      answer: {
        status: this.#status,
        at_ms: this.#respondedAt,
        headers: shown(this.#responseHeaders ?? {}, mask),
        bytes: this.#bytes,
        chunks,
        chunks_left_out: this.#count - chunks.length,
        end: this.#how && mask(this.#how),
        ended_at_ms: this.#endedAt,
        ...(this.#bodies && { body: mask(this.#body?.joined().toString('utf8') ?? '') }),
      },
    }
  }
}

/** A call from its arrival to its end. */
export class CallTrace {
  readonly #call: Call
  readonly #bodies: boolean
  readonly #start: number
  readonly #headers: IncomingHttpHeaders
  readonly #bytes: number
  readonly #body: string | null
  readonly #fields: readonly string[]
  readonly #answers: AnswerTrace[] = []

  /** `start`: arrival of the call, in ms of the `performance` clock. `bytes`: size of its body. */
  constructor(
    call: Call,
    headers: IncomingHttpHeaders,
    { text, json }: { readonly text: string; readonly json: Readonly<Record<string, unknown>> },
    bodies: boolean,
    start: number,
    bytes = Buffer.byteLength(text),
  ) {
    this.#call = call
    this.#bodies = bodies
    this.#start = start
    this.#headers = headers
    this.#bytes = bytes
    this.#body = bodies ? noted(text) : null
    this.#fields = fieldsOf(json)
  }

  /** Records that a request is about to be sent. Returns a trace for its answer. */
  exchange(target: Target, path: string, headers: readonly string[], body: string | Buffer): AnswerTrace {
    const answer = new AnswerTrace(target, path, headers, body, this.#bodies, this.#start)
    this.#answers.push(answer)
    return answer
  }

  /** Retained memory, in bytes. */
  get weight(): number {
    let bytes = this.#body?.length ?? 0
    for (const { weight } of this.#answers) bytes += weight
    return bytes
  }

  /**
   * Returns a function that builds the artifact as JSON text. Masks the secrets of `mask` and the client's
   * own key, which a provider may repeat. The function may wait for a while, so it retains only the trace of
   * the call.
   */
  ended(outcome: CallOutcome, mask: Mask): () => string {
    return () => {
      const maskKey = createMask(credentials(this.#headers))
      return this.#toJson(outcome, (text) => maskKey(mask(text)))
    }
  }

  #toJson({ state, status, errorCode, latencyMs, ttftMs }: CallOutcome, mask: Mask): string {
    const { id, createdAt, endpoint } = this.#call
    return JSON.stringify({
      id,
      created_at: new Date(createdAt).toISOString(),
      request: {
        ...describe(endpoint, this.#headers, this.#bytes, this.#body, mask),
        fields: this.#fields.map(mask),
      },
      exchanges: this.#answers.map((answer, index) => answer.describe(index + 1, mask)),
      outcome: { state, status, error_code: errorCode, latency_ms: latencyMs, ttft_ms: ttftMs },
    })
  }
}

/** Returns a body that may be recorded; null if it is too long. */
const noted = (text: string): string | null => (text.length <= MAX_BODY_BYTES ? text : null)

function fieldsOf(json: Readonly<Record<string, unknown>>): string[] {
  const fields = Object.keys(json)
  return fields.length <= MAX_FIELDS && fields.every(({ length }) => length <= MAX_FIELD_LENGTH)
    ? fields
    : fields.filter(({ length }) => length <= MAX_FIELD_LENGTH).slice(0, MAX_FIELDS)
}

const describe = (path: string, headers: Headers, bytes: number, body: string | null, mask: Mask) => ({
  method: 'POST',
  path: mask(path),
  headers: shown(headers, mask),
  bytes,
  ...(body !== null && { body: mask(body) }),
})

/** Headers in which a client sends its key. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key']

/** Returns the client's key as sent, without its scheme. */
const credentials = (headers: IncomingHttpHeaders): string[] =>
  KEY_HEADERS.flatMap((name) => headers[name]?.toString().replace(/^\w+ +/, '') ?? [])

/** Returns milliseconds since a time of the `performance` clock. */
export const elapsedSince = (start: number): number => Math.round((clock.monotonic() - start) * 100) / 100

/** Returns all header names, with values for harmless headers and null for all other headers. */
function shown(headers: Headers, mask: Mask): Record<string, string | null> {
  const values: Record<string, string | null> = Object.create(null) // providers choose the names
  const show = (name: string, value: unknown) => {
    values[mask(name)] = SHOWN.test(name) ? mask(String(value)) : null
  }
  if (isList(headers)) for (let at = 0; at < headers.length; at += 2) show(headers[at]!, headers[at + 1])
  else for (const name in headers) show(name, headers[name])
  return values
}

const isList = (headers: Headers): headers is readonly string[] => Array.isArray(headers)
