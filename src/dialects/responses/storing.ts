// Responses that the gateway itself stores: selects the stored parts, writes out a continuing request in
// full, and answers requests about a stored response. Format: OpenAI API reference, "Responses".
import { GatewayError } from '../../core/errors.ts'
import { objectIn } from '../../json/object-in.ts'
import { elementsOf, memberText, omitMembers, spliceMembers } from '../../json/splice.ts'
import { inputItems, OutputCollector, withWholeInput } from '../../websocket/continuation.ts'
import { eventReader, typeOf } from '../../websocket/frames.ts'
import type { AnswerCollector, AnswerStoring, AskedAbout, KeptAnswer, RunAnswers } from '../dialect.ts'
import { member } from '../json.ts'
import { forAnyProvider, namedItems } from './named-items.ts'

const runAnswers: RunAnswers = {
  idPrefix: 'resp_here_',
  plain: (text) => omitMembers(text, [['background'], ['stream']]),
  queued(text, id, at) {
    const repeated = REPEATED.flatMap((name) => {
      const value = memberText(text, name)
      return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`]
    })
    const head = JSON.stringify({ id, object: 'response', created_at: Math.floor(at / 1_000) })
    return `${head.slice(0, -1)},"status":"queued","background":true,"error":null,"incomplete_details":null,"output":[],"usage":null,"store":true,${repeated.join()}}`
  },
  inProgress: (answer) => spliceMembers(answer, { status: '"in_progress"' }),
  ended: (answer, error) =>
    spliceMembers(answer, {
      status: error === null ? '"cancelled"' : '"failed"',
      error: JSON.stringify(error),
    }),
  completed: (answer, id) =>
    spliceMembers(answer, { id: JSON.stringify(id), background: 'true', store: 'true' }),
}

export const storing: AnswerStoring = {
  mayKeep: ({ store }) => store !== false,
  previousIn: ({ previous_response_id: id }) => (typeof id === 'string' && id !== '' ? id : null),
  inputItems,
  named: namedItems,
  writeOut: (text, before) =>
    withWholeInput(text, `[${[...before.flatMap(forAnyProvider), ...inputItems(text)].join()}]`),
  openCollector: () => new ResponseCollector(),
  runs: runAnswers,
  answerAbout({ method, rest, query }, kept) {
    if (rest.endsWith('/input_items')) return listed(kept, query)
    if (rest.endsWith('/cancel'))
      throw new GatewayError(
        'invalid_request',
        `Response with id '${kept.id}' is complete; only one in the background that still runs can be cancelled.`,
      )
    return method === 'DELETE'
      ? JSON.stringify({ id: kept.id, object: 'response', deleted: true })
      : kept.answer
  },
}

/** Maximum bytes of a stored answer. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

class ResponseCollector implements AnswerCollector {
  readonly #output = new OutputCollector()
  readonly #read = eventReader((json) => this.#event(json))
  readonly #decoder = new TextDecoder()
  #json: string | null = null
  #bytes = 0
  #isStream = false

  add(bytes: Buffer): void {
    this.#isStream = true
    this.#bytes += bytes.length
    if (this.#bytes <= MAX_ANSWER_BYTES) this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  whole(bytes: Buffer): void {
    this.#bytes = bytes.length
    if (bytes.length <= MAX_ANSWER_BYTES) this.#json = bytes.toString('utf8')
  }

  #event(json: string): void {
    const type = typeOf(json)
    this.#output.add(type, json)
    if (type === 'response.completed' || type === 'response.incomplete')
      this.#json = objectIn(json) && (memberText(json, 'response') ?? null)
  }

  get answer() {
    const response = this.#json === null || this.#bytes > MAX_ANSWER_BYTES ? null : objectIn(this.#json)
    if (!response) return null
    const { id, status, output } = response
    if (typeof id !== 'string' || (status !== 'completed' && status !== 'incomplete')) return null
    const hasItems = Array.isArray(output) && output.length > 0
    // Some servers omit the items in the last event.
    if (!hasItems && this.#isStream && !this.#output.isComplete) return null
    const items = hasItems ? elementsOf(memberText(this.#json!, 'output')!) : this.#output.items
    const json = spliceMembers(this.#json!, { output: `[${items.join()}]` })
    return { id, json, output: items }
  }
}

/** Maximum and default number of items on a page. */
const [MAX_ITEMS, ITEMS] = [100, 20]

/** Returns one page of a request's items. */
function listed({ id, input }: KeptAnswer, query: AskedAbout['query']): string {
  const named = input.map((item, at) => {
    const own = member(JSON.parse(item), 'id')
    const made = `item_${at}`
    return typeof own === 'string'
      ? { id: own, item }
      : { id: made, item: item.startsWith('{') ? spliceMembers(item, { id: `"${made}"` }) : item }
  })
  if (query.get('order') !== 'asc') named.reverse()
  const limit = Number(query.get('limit') ?? ITEMS)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ITEMS)
    throw new GatewayError('invalid_request', `limit: must be a number from 1 to ${MAX_ITEMS}.`, {
      param: 'limit',
    })
  const after = query.get('after')
  const from = after === null ? 0 : named.findIndex((each) => each.id === after) + 1
  if (after !== null && from === 0)
    throw new GatewayError('invalid_request', `after: response '${id}' has no such item.`, { param: 'after' })
  const page = named.slice(from, from + limit)
  const ends = JSON.stringify({
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + limit < named.length,
  })
  return `{"object":"list","data":[${page.map(({ item }) => item).join()}],${ends.slice(1)}`
}

/** Request members that the response repeats. */
const REPEATED = ['model', 'metadata', 'previous_response_id', 'instructions', 'tools', 'tool_choice']
