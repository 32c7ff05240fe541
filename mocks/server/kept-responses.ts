// Responses that OpenAI keeps: those of `store: true`, for the credential that made them, and those of a
// WebSocket for as long as it is open. They can be continued, read, cancelled and deleted. A background
// response is done when it was read twice. Knows the format of responses, and no transport.
import { type MockAnswer, wholeAnswer } from '../answer.ts'
import type { RequestKind } from '../ledger.ts'
import type { Arrived, MockProvider, RefusedRequest } from '../provider.ts'

type Json = Readonly<Record<string, unknown>>

interface Kept {
  /** Credential that made it. */
  readonly account: string | null
  /** WebSocket that made it; null over HTTP. */
  readonly socket: object | null
  readonly isStored: boolean
  readonly input: readonly unknown[]
  /** The response as it will end. */
  readonly response: Json
  /** Reads until a background response is done. */
  readsLeft: number
  isCancelled: boolean
  isDeleted: boolean
}

/** Maximum number of responses; the oldest is dropped first. */
const MAX_KEPT = 1_000

/** Reads of a background response that find it unfinished. */
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
   * Returns the refusal of a request that continues a response which is not there; null for any other. Over
   * HTTP an id that was not made here is not judged: a script may have made it.
   */
  #refusalOf(request: Arrived, provider: MockProvider, socket: object | null): RefusedRequest | null {
    const id = isObject(request.json) ? request.json.previous_response_id : null
    if (typeof id !== 'string' || this.#find(id, provider.credential(request), socket)) return null
    if (socket === null && !this.#kept.has(id)) return null
    const message = `Previous response with id '${id}' not found.`
    return provider.refusal('invalid_request', message, 'previous_response_id', 'previous_response_not_found')
  }

  /** Keeps the response in an answer, and returns the answer, which begins a background response only. */
  #keep(answer: MockAnswer, request: Arrived, provider: MockProvider, socket: object | null): MockAnswer {
    const response = responseIn(answer)
    const { json } = request
    if (!response || !isObject(json)) return answer
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

  /** Answers a request about a kept response; null for any other request. */
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

  /** Returns what is kept for a request, and keeps the response that is in its answer. */
  turn(request: Arrived, provider: MockProvider, kind: RequestKind, socket: object | null) {
    const spends = kind === 'inference'
    return {
      refused: spends ? this.#refusalOf(request, provider, socket) : null,
      /** Null unless the request is about a kept response. */
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

/** Returns a response without what only its end brings. */
const unfinished = (response: Json): Json => ({ ...response, background: true, output: [], usage: null })

/** Returns the response in a complete answer, whole or streamed, or null. */
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
