// Finds contradictions within an answer: values that occur several times must agree, such as texts (as deltas
// and whole), ids and indexes. Pure.
import { isDeepStrictEqual } from 'node:util'
import type { DialectName } from '../dialects/dialect.ts'
import { type AnyJson, jsonOf, objectsIn, readEvents } from '../evidence/reading.ts'

/** Contradictions by kind, in a few words each. */
export interface Contradictions {
  /** Contradictions of texts and arguments: joined deltas against each complete copy. */
  readonly texts: string[]
  readonly ids: string[]
  /** Contradictions between indexes and the items to which they refer. */
  readonly places: string[]
  /** Contradictions between `event:` lines and the types in the data. */
  readonly names: string[]
  /** Contradictions between the status of a response or item and its last event. */
  readonly states: string[]
}

const none = (): Contradictions => ({ texts: [], ids: [], places: [], names: [], states: [] })

const parsed = (body: string): { event: string | null; json: AnyJson }[] =>
  readEvents(body)
    .map(({ event, data }) => ({ event, json: jsonOf(data) as AnyJson }))
    .filter(({ json }) => typeof json === 'object' && json !== null)

const isId = (value: unknown): value is string => typeof value === 'string' && value !== ''

const brief = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

/** Names the first two of several ids, and how many follow. */
const someOf = (ids: ReadonlySet<unknown>): string =>
  `${[...ids].slice(0, 2).map(brief).join(' and ')}${ids.size > 2 ? `, and ${ids.size - 2} more` : ''}`

/** Returns true for the same text, or equivalent JSON. */
const means = (a: unknown, b: unknown): boolean =>
  a === b ||
  (typeof a === 'string' &&
    typeof b === 'string' &&
    jsonOf(a) !== undefined &&
    isDeepStrictEqual(jsonOf(a), jsonOf(b)))

/** Reports missing and duplicate ids of calls. */
function distinct(calls: readonly { readonly id?: unknown }[]): string[] {
  const ids = calls.map(({ id }) => id)
  const missing = ids.filter((id) => !isId(id)).length
  const twice = ids.filter((id, index) => isId(id) && ids.indexOf(id) !== index)
  return [
    ...(missing > 0 ? [`${missing} of ${ids.length} calls without an id`] : []),
    ...twice.map((id) => `calls share the id ${brief(id)}`),
  ]
}

/** Compares chunks: each has the answer's id, and a tool call has its id from the first part on. */
function inChat(body: string): Contradictions {
  const found = none()
  const whole = jsonOf(body) as AnyJson | undefined
  if (whole !== undefined) {
    const calls = objectsIn(whole?.choices).flatMap(({ message }) => objectsIn(message?.tool_calls))
    found.ids.push(...distinct(calls))
    return found
  }
  const calls = new Map<string, { id: unknown }>()
  const answers = new Set<unknown>()
  for (const { json } of parsed(body)) {
    const choices = objectsIn(json.choices)
    if (choices.length > 0 && isId(json.id)) answers.add(json.id)
    for (const choice of choices)
      for (const call of objectsIn(choice.delta?.tool_calls)) {
        if (!Number.isInteger(call.index)) {
          found.places.push(`a part of a call with the index ${brief(call.index)}`)
          continue
        }
        const key = `${choice.index ?? 0} ${call.index}`
        const known = calls.get(key)
        if (!known) {
          calls.set(key, { id: call.id })
          if (!isId(call.function?.name)) found.places.push(`call ${call.index} begins without its name`)
        } else if (isId(call.id) && call.id !== known.id)
          found.ids.push(`call ${call.index} is ${brief(known.id)}, then ${brief(call.id)}`)
      }
  }
  if (answers.size > 1) found.ids.push(`the answer has the ids ${someOf(answers)}`)
  found.ids.push(...distinct([...calls.values()]))
  return found
}

/** Delta types for each block type; other blocks are not checked. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

/**
 * Events that need an `event:` line. Messages clients skip events without this line. Responses clients read
 * the data instead.
 */
const NAMED = /^(message_(start|delta|stop)|content_block_(start|delta|stop))$/

interface Block {
  readonly start: AnyJson
  joined: string
  open: boolean
}

function inMessages(body: string): Contradictions {
  const found = none()
  const whole = jsonOf(body) as AnyJson | undefined
  const blocks = new Map<unknown, Block>()
  if (whole !== undefined)
    for (const [index, start] of objectsIn(whole?.content).entries())
      blocks.set(index, { start, joined: '', open: false })
  else for (const { event, json } of parsed(body)) messageEvent(event, json, blocks, found)
  const calls = [...blocks.values()].filter(({ start }) => start?.type === 'tool_use')
  found.ids.push(...distinct(calls.map(({ start }) => start)))
  for (const { start, joined } of calls)
    if (
      joined !== '' &&
      Object.keys(start.input ?? {}).length > 0 &&
      !means(JSON.stringify(start.input), joined)
    )
      found.texts.push(`a call begins with ${brief(start.input)}, and its parts are ${brief(joined)}`)
  return found
}

function messageEvent(
  event: string | null,
  json: AnyJson,
  blocks: Map<unknown, Block>,
  { texts, places, names }: Contradictions,
): void {
  const { type, index, delta, content_block, message } = json
  if (!NAMED.test(type)) return
  if (event !== type) names.push(`${type} is named ${event ?? 'by no line'}`)
  // Clients append later blocks to the blocks in `message_start`.
  if (type === 'message_start' && (message?.content ?? []).length > 0)
    texts.push('message_start holds content already')
  if (type === 'content_block_start')
    blocks.set(index, { start: content_block ?? {}, joined: '', open: true })
  if (type !== 'content_block_delta' && type !== 'content_block_stop') return
  const block = blocks.get(index)
  if (!block?.open) {
    places.push(`${type} of block ${brief(index)}, which is not open`)
    return
  }
  if (type === 'content_block_stop') block.open = false
  const fitting = DELTAS[block.start.type]
  if (delta !== undefined && fitting && !fitting.includes(delta?.type))
    places.push(`a ${delta?.type} in block ${index}, a ${block.start.type}`)
  block.joined += delta?.partial_json ?? ''
}

/** Item of a Responses stream under construction. */
interface Item {
  readonly index: unknown
  readonly added: AnyJson
  /** `response.output_text 0` -> the joined deltas of that part. */
  readonly deltas: Map<string, string>
}

const partOf = ({ content_index, summary_index }: AnyJson): number => content_index ?? summary_index ?? 0

/** Returns the texts of a finished item, keyed like their deltas. */
function textsOf(item: AnyJson): [key: string, text: unknown][] {
  const parts = (list: unknown, type: string, base: string): [string, unknown][] =>
    (Array.isArray(list) ? list : []).flatMap((part: AnyJson, index) =>
      part?.type === type ? [[`${base} ${index}`, part.text ?? part.refusal]] : [],
    )
  if (item.type === 'function_call') return [['response.function_call_arguments 0', item.arguments]]
  if (item.type === 'custom_tool_call') return [['response.custom_tool_call_input 0', item.input]]
  if (item.type === 'message')
    return [
      ...parts(item.content, 'output_text', 'response.output_text'),
      ...parts(item.content, 'refusal', 'response.refusal'),
    ]
  if (item.type !== 'reasoning') return []
  return [
    ...parts(item.summary, 'summary_text', 'response.reasoning_summary_text'),
    ...parts(item.content, 'reasoning_text', 'response.reasoning_text'),
  ]
}

/** Compares a finished item with its events. Reasoning may come without deltas. */
function finished(item: AnyJson, known: Item, where: string, { texts, ids, states }: Contradictions): void {
  if (item.status === 'in_progress') states.push(`the ${item.type} in ${where} is in_progress`)
  const told = new Map(textsOf(item))
  for (const [key, text] of told) {
    const joined = known.deltas.get(key)
    if (joined === undefined && (item.type === 'reasoning' || !text)) continue
    if (!means(joined ?? '', text))
      texts.push(`${where} has ${brief(text)}, its deltas ${brief(joined ?? '')}`)
  }
  for (const [key, joined] of known.deltas)
    if (joined !== '' && !told.has(key)) texts.push(`${where} has no ${key}, its deltas ${brief(joined)}`)
  for (const name of ['call_id', 'name'])
    if (isId(known.added[name]) && item[name] !== known.added[name])
      ids.push(`the ${name} ${brief(known.added[name])} is ${brief(item[name])} in ${where}`)
}

function inResponses(body: string): Contradictions {
  const found = none()
  const whole = jsonOf(body) as AnyJson | undefined
  const output = (response: AnyJson | undefined): AnyJson[] => objectsIn(response?.output)
  const calls = (items: readonly AnyJson[]) =>
    distinct(items.flatMap(({ type, call_id }) => (type === 'function_call' ? [{ id: call_id }] : [])))
  if (whole !== undefined) {
    found.ids.push(...calls(output(whole)))
    if (whole.status === 'completed')
      for (const { type, status } of output(whole))
        if (status === 'in_progress') found.states.push(`a ${type} of the completed response is ${status}`)
    return found
  }
  const items = new Map<unknown, Item>()
  const responses = new Set<unknown>()
  for (const { event, json } of parsed(body)) {
    if (typeof json.type !== 'string' || !json.type.startsWith('response.')) continue
    // Not every client uses the `event:` line.
    if (event !== null && event !== 'message' && event !== json.type)
      found.names.push(`${json.type} is named ${event}`)
    if (json.response !== undefined) responses.add(json.response?.id)
    responseEvent(json, items, found)
    if (!/^response\.(completed|incomplete)$/.test(json.type)) continue
    found.ids.push(...calls(output(json.response)))
    const status = json.response?.status
    if (typeof status === 'string' && json.type !== `response.${status}`)
      found.states.push(`the response of ${json.type} is ${brief(status)}`)
    for (const [index, item] of output(json.response).entries()) {
      const known = items.get(item.id)
      if (!known) found.ids.push(`${brief(item.id)} of the last event was never added`)
      else finished(item, known, 'the last event', found)
      if (known && known.index !== index)
        found.places.push(`item ${brief(known.index)} is number ${index} of the last event`)
    }
  }
  if (responses.size > 1) found.ids.push(`the response has the ids ${someOf(responses)}`)
  return found
}

const FINISHED = 'response.output_item.done'

function responseEvent(json: AnyJson, items: Map<unknown, Item>, found: Contradictions): void {
  const { type, output_index: index, item } = json
  if (type === 'response.output_item.added') {
    if (!isId(item?.id) || items.has(item.id)) found.ids.push(`an item is added as ${brief(item?.id)}`)
    if ([...items.values()].some((other) => other.index === index))
      found.places.push(`a second item at ${brief(index)}`)
    items.set(item?.id, { index, added: item ?? {}, deltas: new Map() })
    return
  }
  // A gateway's own event may belong to no item.
  const isOwn = !/\.(added|delta|done)$/.test(type)
  const said = type === FINISHED ? item?.id : json.item_id
  const nameless = said === undefined && item === undefined && !isOwn ? itemAt(index, items) : undefined
  if (nameless !== undefined) {
    const missing = `${type} of item ${brief(index)} has no ${type === FINISHED ? 'item' : 'item_id'}`
    if (!found.ids.includes(missing)) found.ids.push(missing)
  }
  const id = said ?? nameless
  if (
    (id === undefined || (id === null && isOwn)) &&
    (json.item_id ?? undefined) === undefined &&
    item === undefined
  )
    return
  const known = items.get(id)
  if (!known) {
    found.ids.push(`${type} of ${brief(id)}, which was never added`)
    return
  }
  if (index !== undefined && index !== known.index)
    found.places.push(`${type} of item ${brief(known.index)} says ${brief(index)}`)
  if (type === FINISHED) {
    if (item) finished(item, known, 'the finished item', found)
    return
  }
  const base = type.replace(/\.(delta|done)$/, '')
  const key = `${base} ${partOf(json)}`
  if (type.endsWith('.delta') && typeof json.delta === 'string')
    known.deltas.set(key, (known.deltas.get(key) ?? '') + json.delta)
  const text = json.text ?? json.arguments ?? json.input ?? json.refusal
  if (type.endsWith('.done') && typeof text === 'string' && !means(known.deltas.get(key) ?? '', text))
    found.texts.push(`${type} has ${brief(text)}, the deltas ${brief(known.deltas.get(key) ?? '')}`)
}

/** Returns the id of the item at a place of the output. */
const itemAt = (index: unknown, items: ReadonlyMap<unknown, Item>): unknown =>
  [...items].find(([, item]) => index !== undefined && item.index === index)?.[0]

const READERS: Readonly<Partial<Record<DialectName, (body: string) => Contradictions>>> = {
  chat: inChat,
  messages: inMessages,
  responses: inResponses,
}

/** Returns the contradictions in an answer of this dialect. */
export const contradictions = (dialect: DialectName, body: string): Contradictions =>
  READERS[dialect]?.(body) ?? none()
