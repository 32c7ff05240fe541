// Items that a request only names. Clients that rely on stored answers repeat an earlier item as its id. The
// gateway's own ids contain the id of the answer, so that its store can find the item. Format: OpenAI API
// reference, "Responses".

import { previousResponseNotFound } from '../../core/errors.ts'
import { elementsOf, memberText, omitMembers, spliceMembers } from '../../json/splice.ts'
import type { NamedItems } from '../dialect.ts'
import { isObject, type Json, member, textOf } from '../json.ts'
import { type KeptKind, places } from '../kept.ts'

/** Returns the id of the n-th item of an answer that the gateway writes. */
export const itemId = (prefix: string, answerId: unknown, n: number): string =>
  `${prefix}_wb_${String(answerId).replace(/^resp_/, '')}_${n}`

const ITEM_ID = /^(?:msg|rs|fc)_wb_([0-9a-f]{32})_\d{1,6}$/

/** Returns true if an item only names another. A reference may omit its type. A message without a type has a role. */
const isReference = ({ type, role }: Json): boolean =>
  type === 'item_reference' || (type == null && role == null)

const idNamedBy = (item: unknown): string | null =>
  isObject(item) && isReference(item) && typeof item.id === 'string' ? item.id : null

export const namedItems: NamedItems = {
  in: ({ input }) => (Array.isArray(input) ? input.flatMap((item) => idNamedBy(item) ?? []) : []),

  answerOf(id) {
    const [, answer] = ITEM_ID.exec(id) ?? []
    return answer === undefined ? null : `resp_${answer}`
  },

  idOf(item) {
    const id = member(JSON.parse(item), 'id')
    return typeof id === 'string' ? id : null
  },

  writtenOut(text, items) {
    const whole = elementsOf(memberText(text, 'input')!).flatMap((element) => {
      const id = idNamedBy(JSON.parse(element))
      const item = id === null ? undefined : items.get(id)
      return item === undefined ? [element] : item === null ? [] : forAnyProvider(item)
    })
    const isLossy = [...items.values()].includes(null)
    return spliceMembers(text, { input: `[${(isLossy ? withoutOrphans(whole) : whole).join()}]` })
  },
}

/** Omits results of calls that are lost, because providers refuse a result without its call. */
function withoutOrphans(items: readonly string[]): string[] {
  const parsed = items.map((item): unknown => JSON.parse(item))
  // Calls may be among the items that other providers store.
  if (parsed.some((item) => idNamedBy(item) !== null)) return [...items]
  const isResult = (item: unknown) =>
    textOf(member(item, 'type')).endsWith('_output') && typeof member(item, 'call_id') === 'string'
  const calls = new Set(parsed.flatMap((item) => (isResult(item) ? [] : [member(item, 'call_id')])))
  return items.filter((_, at) => !isResult(parsed[at]) || calls.has(member(parsed[at], 'call_id')))
}

/**
 * Returns an item without the parts that only its provider understands: ids, which other providers refuse,
 * and reasoning stored outside the item.
 */
export function forAnyProvider(item: string): string[] {
  const json: unknown = JSON.parse(item)
  if (!isObject(json)) return [item]
  if (json.type === 'item_reference') return [item]
  if (json.type === 'reasoning' && typeof json.encrypted_content !== 'string') return []
  return [omitMembers(item, [['id']])]
}

/** Places of tools: in the request, in a namespace, and as added by an item of the input. */
const TOOLS = ['tools.*', 'tools.*.tools.*', 'input.*.tools.*', 'input.*.tools.*.tools.*']
const inTools = (...paths: readonly string[]) =>
  places(...TOOLS.flatMap((at) => paths.map((path) => `${at}.${path}`)))

export const kept: readonly KeptKind[] = [
  {
    what: 'the previous response',
    at: places('previous_response_id'),
    onRecord: 'answer',
    instead: 'the whole conversation',
    refusal: previousResponseNotFound,
  },
  {
    what: 'the conversation',
    onRecord: 'object',
    at: places('conversation', 'conversation.id'),
    isConversation: true,
    changes: true,
    instead: 'all of it as `input`',
  },
  {
    what: 'the prompt',
    at: places('prompt.id'),
    isConversation: true,
    instead: 'its text as `instructions`',
  },
  {
    what: 'the item',
    at: places('input.*.id'),
    isId: (_, owner) => isReference(owner),
    isConversation: true,
    instead: 'the item itself',
  },
  {
    what: 'the file',
    onRecord: 'object',
    at: [
      ...places(
        'input.*.content.*.file_id',
        'input.*.output.*.file_id',
        'input.*.output.file_id',
        'input.*.file_id',
        'prompt.variables.*.file_id',
      ),
      ...inTools('container.file_ids.*', 'environment.file_ids.*', 'input_image_mask.file_id'),
    ],
    instead: 'its content',
  },
  {
    what: 'the vector store',
    at: inTools('vector_store_ids.*'),
    instead: 'what is to be searched',
  },
  {
    what: 'the container',
    at: inTools('container', 'environment.container_id'),
    onRecord: 'object',
    changes: true,
    instead: '`{"type": "auto"}`, for a new container',
  },
  {
    what: 'the skill',
    at: inTools('environment.skills.*.skill_id'),
    onRecord: 'object',
    isShared: true,
    isId: (id) => id.startsWith('skill_'), // others are OpenAI's own
    instead: 'what it says',
  },
]
