// Files and batches that providers store. Each object belongs to the gateway key that made it, according to
// the record; it does not exist for other client keys. Only administrators can reach unrecorded objects.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { CallContext } from '../call/context.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../dialects/json.ts'
import type { Caller } from '../http/caller.ts'
import { uploadsIn } from '../http/upload-tokens.ts'
import type { ObjectMaker } from '../store/reads.ts'
import type { Operation, Owner } from './operations.ts'

type Records = Pick<CallContext, 'store'>

/** Returns the recorded name of an object. */
export const objectName = (id: string, owner: Owner): string => (owner === 'gemini' ? `files/${id}` : id)

/** Returns the name of an upload in parts. Google's clients know only its id. */
export const uploadName = (id: string): string =>
  `upload-${createHash('sha256').update(id).digest('base64url')}`

/** Returns true if a caller may reach an object that a key made. */
const mayReach = ({ key_name }: ObjectMaker, { role, name }: Caller): boolean =>
  role === 'admin' || key_name === name

/**
 * Returns the call that made an object; null for an administrator if no call is recorded. Rejects with
 * `not_found`, both for another key's object and for a missing one.
 */
export async function reach(name: string, caller: Caller, { store }: Records): Promise<ObjectMaker | null> {
  const [maker] = await store.calls.objectMakers([name])
  if (maker ? !mayReach(maker, caller) : caller.role !== 'admin') throw nothingThere(name)
  return maker ?? null
}

export const nothingThere = (name: string): GatewayError =>
  new GatewayError('not_found', `No such object: '${name}'. No call of this key made it.`)

/** Returns the names of the objects that the provider has made, according to an answer. */
export function madeBy({ method, path }: Operation, json: Json, headers: IncomingHttpHeaders): string[] {
  if (method !== 'POST' && method !== 'PUT') return []
  if (path.includes('{id}')) return []
  if (!path.startsWith('/upload/')) return [textOf(json.id)].filter(Boolean)
  const uploads = uploadsIn(String(headers['x-goog-upload-url'] ?? ''))
  return [textOf(member(json.file, 'name')), ...uploads.map(uploadName)].filter(Boolean)
}

/** Returns a list with only the objects that a caller may reach. */
export async function ownOf(json: Json, caller: Caller, { store }: Records): Promise<Json> {
  const member = Array.isArray(json.data) ? 'data' : 'files'
  const all = listOrEmpty(json[member]).filter(isObject)
  const nameOf = (each: Json) => textOf(member === 'data' ? each.id : each.name)
  const makers = await store.calls.objectMakers(all.map(nameOf))
  const own = new Set(makers.filter((maker) => mayReach(maker, caller)).map(({ id }) => id))
  const shown = all.filter((each) => own.has(nameOf(each)))
  return {
    ...json,
    [member]: shown,
    ...('first_id' in json && { first_id: shown[0]?.id ?? null }),
    ...('last_id' in json && { last_id: shown.at(-1)?.id ?? null }),
  }
}

/** Ids in a string that may name an object, in the formats of OpenAI, Anthropic and Google. */
const NAMES = /(?:file[-_]|files\/|batch_|msgbatch_)[A-Za-z0-9_-]{6,250}/g
/** Maximum length of a name with escapes, in characters. The end of a piece of this length is read again. */
const MAX_NAME_CHARACTERS = 1_600

/**
 * Passes on a body. Rejects with `not_found` before sending a piece that names another key's object.
 * Recognizes names even if JSON writes their characters as `\u0066`.
 */
export async function* withoutForeign(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  caller: Caller,
  { store }: Records,
): AsyncGenerator<Buffer> {
  let before = ''
  for await (const piece of pieces) {
    const text = before + piece.toString('latin1')
    before = text.slice(-MAX_NAME_CHARACTERS)
    const plain = text.includes('\\u00')
      ? text.replace(/\\u00([0-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      : text
    const names = [...new Set(plain.match(NAMES) ?? [])]
    if (names.length > 0) {
      const foreign = (await store.calls.objectMakers(names)).find((maker) => !mayReach(maker, caller))
      if (foreign) throw nothingThere(foreign.id)
    }
    yield piece
  }
}
