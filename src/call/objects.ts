// Whose object is it? The only place that decides which objects at a provider a caller may name, and where a text may
// name one. The dialects' tables of kept state list the members. An object belongs to the gateway key that made it,
// according to the record; it does not exist for other client keys. `unknown_objects` decides about objects without a
// record. Administrators can reach all.
import type { Config } from '../config/load.ts'
import { GatewayError } from '../core/errors.ts'
import { isGoogleFileAddress, objectName, withoutEscapes } from '../dialects/kept.ts'
import { DIALECTS, type Dialects } from '../dialects/registry.ts'
import type { Caller } from '../http/caller.ts'
import { repeatedMember } from '../json/plain-names.ts'
import type { ObjectMaker } from '../store/reads.ts'
import type { CallContext } from './context.ts'

export type Records = Pick<CallContext, 'store' | 'config'>

/** Returns true if client keys can reach objects without a record. */
const relaysUnknown = ({ unknown_objects, keys }: Config): boolean =>
  (unknown_objects ?? (keys.filter(({ role }) => role === 'client').length > 1 ? 'refuse' : 'relay')) ===
  'relay'

/** Returns true if a caller may reach an object. `maker`: undefined if the object is not on record. */
export const mayReach = (
  maker: ObjectMaker | undefined,
  { role, name }: Caller,
  { config }: Pick<Records, 'config'>,
): boolean => role === 'admin' || (maker ? maker.key_name === name : relaysUnknown(config))

export const nothingThere = (name: string): GatewayError =>
  new GatewayError('not_found', `No such object: '${name.slice(0, 300)}'. No call of this key made it.`)

/**
 * Returns the calls that made objects, by name. Rejects with `not_found` for an object of another key, and for one of
 * `named` without a record if those are refused. `mentioned`: names that may also be something else.
 */
export async function reach(
  named: readonly string[],
  mentioned: readonly string[],
  caller: Caller,
  context: Records,
): Promise<ReadonlyMap<string, ObjectMaker>> {
  const names = [...new Set([...named, ...mentioned])]
  const makers = names.length === 0 ? [] : await context.store.calls.objectMakers(names)
  const byName = new Map(makers.map((maker) => [maker.id, maker]))
  for (const name of named) if (!mayReach(byName.get(name), caller, context)) throw nothingThere(name)
  for (const maker of makers) if (!mayReach(maker, caller, context)) throw nothingThere(maker.id)
  return byName
}

const kinds = Object.values<Dialects[string]>(DIALECTS).flatMap(({ client }) => client.kept ?? [])
const membersOf = (onRecord: 'answer' | 'object'): string[] => [
  ...new Set(
    kinds
      .filter((kind) => kind.onRecord === onRecord)
      .flatMap(({ at }) => at.map((place) => place.findLast((name) => name !== '*')!)),
  ),
]
/** Members that name objects. `id` is the name of many other things, so it needs an object's form. */
const OBJECT_MEMBERS = [...membersOf('object').filter((name) => name !== 'id'), 'input_file_id']
const ANSWER_MEMBERS = membersOf('answer')

/** Members of JSON text with one value or a list. Inside of a string, the quotation marks would be escaped. */
const memberPattern = (...names: readonly string[]) =>
  new RegExp(String.raw`"(${names.join('|')})"\s*:\s*(?:(\[[^\][]*\])|"([^"]{1,2000})")`, 'g')
const OBJECTS = memberPattern(...OBJECT_MEMBERS)
const ANSWERS = memberPattern(...ANSWER_MEMBERS)
const IDS = memberPattern('id')
/** Members with an address, which may be the name of a file when the request is translated to Gemini. */
const ADDRESSES = memberPattern('url', 'image_url', 'file_url', 'file_data')
/** Cached contents, which Google's chat endpoint accepts in `extra_body`. */
const CACHED = memberPattern('cachedContent', 'cached_content')
/** Every member that may name an object or an answer, whatever its value. */
const ANY_MEMBER = new RegExp(String.raw`"(?:${[...OBJECT_MEMBERS, ...ANSWER_MEMBERS].join('|')})"\s*:`)
/** Fields of a form. */
const FIELDS = new RegExp(
  String.raw`;[ \t]*name="?(?:${OBJECT_MEMBERS.join('|')})(?:\[\])?"?[ \t]*\r\n(?:[^\r\n]{1,200}\r\n){0,3}\r\n([^\r\n]{1,2000})`,
  'gi',
)

/** Maximum number of different names in one request. */
const MAX_MENTIONED = 10_000

function valuesOf(pattern: RegExp, text: string): string[] {
  const found: string[] = []
  for (const [, , list, value] of text.matchAll(pattern))
    if (value !== undefined) found.push(value)
    else for (const [, each] of list!.matchAll(/"([^"]{1,2000})"/g)) found.push(each!)
  return found
}

/**
 * Returns the names in every member of a request that may name an object, at any place; null if there is no such member.
 * Throws if a member is repeated in a request with such a member, because providers differ in which one they use. Searching
 * takes about a millisecond for each megabyte.
 */
export function mentionedIn(text: string): readonly string[] | null {
  if (!ANY_MEMBER.test(text)) return null
  const repeated = repeatedMember(text)
  if (repeated !== null)
    throw new GatewayError(
      'invalid_request',
      `${repeated}: is there twice; send it once in a request that names files or other objects.`,
      { param: repeated },
    )
  const names = new Set(valuesOf(OBJECTS, text).map(objectName))
  if (names.size > MAX_MENTIONED)
    throw new GatewayError('invalid_request', `The request names more than ${MAX_MENTIONED} objects.`)
  return [...names]
}

/** Returns the names of Google's objects in members that do not name objects in the request's own dialect. */
export const namedElsewhere = (text: string): readonly string[] => [
  ...new Set([
    ...valuesOf(ADDRESSES, text).filter(isGoogleFileAddress).map(objectName),
    ...valuesOf(CACHED, text).map(objectName),
  ]),
]

/** Ids in a string that may name an object, in the formats of OpenAI, Anthropic and Google. */
const WORDS =
  /(?:file[-_]|batch_|msgbatch_|skill_|container_|cntr_|conv_)[A-Za-z0-9_-]{6,250}|files\/[A-Za-z0-9_-]{1,250}/g
const IS_OBJECT =
  /^(?:(?:file[-_]|batch_|msgbatch_|container_|cntr_|conv_)[\w-]+|(?:files|cachedContents)\/[\w-]+)$/
const IS_CONTAINER = /^(?:container_|cntr_|conv_)[\w-]+$/
/** Maximum length of a name with escapes, in characters. The end of a piece of this length is read again. */
const MAX_NAME_CHARACTERS = 4_000
/** A text without this has no name and no member. */
const MAY_NAME = new RegExp(
  ['file', 'batch_', 'skill_', 'container_', 'cntr_', 'conv_', ...OBJECT_MEMBERS, ...ANSWER_MEMBERS].join(
    '|',
  ),
)
/** White space that would part a member from its value in the next piece. */
const LONG_SPACE = /[ \t\r\n]{100,}/g
/** Letters of a text in UTF-16 or UTF-32. */
const WIDE = /\0[A-Za-z]\0+[A-Za-z]\0/

/**
 * Passes on a relayed body. Rejects with `not_found` before sending a piece that names another key's object in any
 * spelling, or has it as a field of a form. `isRequest`: true if the body is a request or a list of requests. Then its
 * members may not name unrecorded objects and answers either.
 */
export async function* withoutForeign(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  isRequest: boolean,
  caller: Caller,
  context: Records,
): AsyncGenerator<Buffer> {
  let before = ''
  for await (const piece of pieces) {
    const arrived = before + piece.toString('latin1')
    const raw = isRequest ? arrived.replace(LONG_SPACE, ' ') : arrived
    before = raw.slice(-MAX_NAME_CHARACTERS)
    const text = withoutEscapes(WIDE.test(raw) ? raw.replaceAll('\0', '') : raw)
    if (MAY_NAME.test(text)) await refuseForeign(text, isRequest, caller, context)
    yield piece
  }
}

async function refuseForeign(
  text: string,
  isRequest: boolean,
  caller: Caller,
  context: Records,
): Promise<void> {
  const members = valuesOf(OBJECTS, text).map(objectName)
  const named = [...text.matchAll(FIELDS)].map(([, value]) => objectName(value!))
  if (isRequest)
    named.push(
      ...members.filter((name) => IS_OBJECT.test(name)),
      ...valuesOf(IDS, text).filter((id) => IS_CONTAINER.test(id)),
    )
  await reach(named, [...members, ...(text.match(WORDS) ?? [])], caller, context)
  if (isRequest)
    for (const id of new Set(valuesOf(ANSWERS, text)))
      if (!(await context.store.calls.makerOf(id, caller.name))) throw nothingThere(id)
}
