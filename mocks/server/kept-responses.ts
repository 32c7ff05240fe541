// Responses that OpenAI stores: with `store: true` for the credential that made them, and on a WebSocket
// while it is open. They can be continued, read, cancelled and deleted. A background response completes after
// two reads. Knows the format of responses; independent of the transport.
import { type MockAnswer, wholeAnswer } from '../answer.ts'
import type { RequestKind } from '../ledger.ts'
import type { Arrived, MockProvider, RefusedRequest } from '../provider.ts'

type Json = Readonly<Record<string, unknown>>

interface Kept {
  /** Credential that made the response. */
  readonly account: string | null
  /** WebSocket that made the response; null over HTTP. */
  readonly socket: object | null
  readonly isStored: boolean
  readonly input: readonly unknown[]
  /** Final state of the response. */
  readonly response: Json
  /** Remaining reads until a background response completes. */
  readsLeft: number
  isCancelled: boolean
  isDeleted: boolean
}

/** Maximum number of responses; the oldest response is dropped first. */
const MAX_KEPT = 1_000

/** Number of reads that find a background response unfinished. */
const READS_IN_PROGRESS = 2

export class KeptResponses {
  readonly #kept = new Map<string, Kept>()

  #find(id: string, account: string | null, socket: object | null): Kept | null {
    const found = this.#kept.get(id)
    return found?.account === account &&
      !found.isDeleted &&
      (found.isStored || (socket !== null && found.socket === socket))
      ? found
      : null
  }

  /**
   * Returns the refusal of a request that continues a missing response; null for any other request. Over
   * HTTP, unknown ids that the mock did not make are accepted, because a script may have made them.
   */
  #refusalOf(request: Arrived, provider: MockProvider, socket: object | null): RefusedRequest | null {
    const id = isObject(request.json) ? request.json.previous_response_id : null
    if (typeof id !== 'string' || this.#find(id, provider.credential(request), socket)) return null
    if (socket === null && !this.#kept.has(id)) return null
    const message = `Previous response with id '${id}' not found.`
    return provider.refusal('invalid_request', message, 'previous_response_id', 'previous_response_not_found')
  }

  /**
   * Stores the response in an answer, and returns the answer; for a background response, only its first
   * state.
   */
  #keep(answer: MockAnswer, request: Arrived, provider: MockProvider, socket: object | null): MockAnswer {
    const { json } = request
    if (request.path !== 'responses' || !isObject(json)) return answer
    const response = responseIn(answer)
    if (!response) return answer
    const inBackground = json.background === true
    const input = typeof json.input === 'string' ? [{ role: 'user', content: json.input }] : json.input
    this.#kept.set(response.id, {
      ...{ account: provider.credential(request), socket, response, isCancelled: false, isDeleted: false },
      isStored: json.store !== false,
      input: Array.isArray(input) ? input : [],
      readsLeft: inBackground ? READS_IN_PROGRESS : 0,
    })
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!)
    return inBackground && json.stream !== true
      ? wholeAnswer(answer.from, 200, { ...unfinished(response), status: 'queued' })
      : answer
  }

  /** Answers a request about a stored response; returns null for any other request. */
  #answerAbout({ method, path, ...request }: Arrived, provider: MockProvider): MockAnswer | null {
    const [, id, part = ''] = /^responses\/([\w-]+)(\/input_items|\/cancel)?$/.exec(path) ?? []
    if (id === undefined) return null
    const asked = `${method} ${part}`
    if (!['GET ', 'DELETE ', 'GET /input_items', 'POST /cancel'].includes(asked)) return null
    const found = this.#find(id, provider.credential({ method, path, ...request }), null)
    if (!found?.isStored) {
      const { status, headers, body } = provider.refusal(
        'unknown_path',
        `Response with id '${id}' not found.`,
      )
      return wholeAnswer('kept', status, body, headers)
    }
    if (asked === 'DELETE ') {
      found.isDeleted = true
      return wholeAnswer('kept', 200, { id, object: 'response', deleted: true })
    }
    if (asked === 'GET /input_items') {
      const data = found.input.map((item, at) => ({ id: `item_${at}`, ...(item as object) })).reverse()
      return wholeAnswer('kept', 200, { object: 'list', data, has_more: false })
    }
    if (asked === 'POST /cancel') {
      if (found.readsLeft > 0) found.isCancelled = true
    } else if (found.readsLeft > 0) found.readsLeft--
    if (found.isCancelled)
      return wholeAnswer('kept', 200, { ...unfinished(found.response), status: 'cancelled' })
    const isOver = found.readsLeft === 0
    const shown = { ...found.response, background: true }
    return wholeAnswer('kept', 200, isOver ? shown : { ...unfinished(shown), status: 'in_progress' })
  }

  /** Returns a request's refusal, its answer if it is about a stored response, and a function that stores a new one. */
  turn(request: Arrived, provider: MockProvider, kind: RequestKind, socket: object | null) {
    const spends = kind === 'inference'
    return {
      refused: spends ? this.#refusalOf(request, provider, socket) : null,
      /** Answer to a request about a stored response; null for any other request. */
      answer: spends ? null : this.#answerAbout(request, provider),
      keep: (answer: MockAnswer) => (spends ? this.#keep(answer, request, provider, socket) : answer),
    }
  }

  clear(): void {
    this.#kept.clear()
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a response without the fields that are only known at its end. */
const unfinished = (response: Json): Json => ({ ...response, background: true, output: [], usage: null })

/** Returns the response in a complete answer, whole or streamed; otherwise null. */
function responseIn({ status, headers, parts }: MockAnswer): (Json & { readonly id: string }) | null {
  if (status !== 200) return null
  const text = Buffer.concat(parts.filter((part) => part instanceof Uint8Array)).toString()
  try {
    const isStream = headers['content-type']?.startsWith('text/event-stream')
    const found = isStream ? lastIn(text) : JSON.parse(text)
    return typeof found?.id === 'string' && found.object === 'response' ? found : null
  } catch {
    return null
  }
}

function lastIn(text: string): (Json & { readonly id: string }) | null {
  for (const [, data] of [...text.matchAll(/^data: (.*)$/gm)].reverse()) {
    const { type, response } = JSON.parse(data!)
    if (type === 'response.completed' || type === 'response.incomplete') return response
  }
  return null
}
