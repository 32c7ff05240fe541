// Names of the files and batches that relayed calls make and list. `src/call/objects.ts` decides to whom they belong.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { mayReach, type Records } from '../call/objects.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../dialects/json.ts'
import { type Caller, uploadsIn } from '../http/caller.ts'
import { isProvidersSkill, type Operation, type Owner } from './operations.ts'

/** Returns the recorded name of the object in a path. */
export const nameInPath = (id: string, owner: Owner): string => (owner === 'gemini' ? `files/${id}` : id)

/** Returns the name of an upload in parts. Google's clients know only its id. */
export const uploadName = (id: string): string =>
  `upload-${createHash('sha256').update(id).digest('base64url')}`

/** Returns the names of the objects that the provider has made, according to an answer. */
export function madeBy({ method, path }: Operation, json: Json, headers: IncomingHttpHeaders): string[] {
  if (method !== 'POST' && method !== 'PUT') return []
  if (path.includes('{id}')) return []
  if (!path.startsWith('/upload/')) return [textOf(json.id)].filter(Boolean)
  const uploads = uploadsIn(String(headers['x-goog-upload-url'] ?? ''))
  return [textOf(member(json.file, 'name')), ...uploads.map(uploadName)].filter(Boolean)
}

/** Returns a list with only the objects that a caller may reach. */
export async function ownOf(
  json: Json,
  operation: Operation,
  caller: Caller,
  context: Records,
): Promise<Json> {
  const member = Array.isArray(json.data) ? 'data' : 'files'
  const all = listOrEmpty(json[member]).filter(isObject)
  const nameOf = (each: Json) => textOf(member === 'data' ? each.id : each.name)
  const makers = await context.store.calls.objectMakers(all.map(nameOf))
  const byName = new Map(makers.map((maker) => [maker.id, maker]))
  const shown = all.filter((each) => {
    const [name, maker] = [nameOf(each), byName.get(nameOf(each))]
    return (!maker && isProvidersSkill(operation, name)) || mayReach(maker, caller, context)
  })
  return {
    ...withoutLists(json, Array.isArray(json[member])),
    [member]: shown,
    ...('first_id' in json && { first_id: shown[0]?.id ?? null }),
    ...('last_id' in json && { last_id: shown.at(-1)?.id ?? null }),
  }
}

/**
 * Returns the members of a list's page that cannot contain objects. An answer without a list may itself be an object:
 * only the token for its next page remains.
 */
const withoutLists = (json: Json, hasList: boolean): Json =>
  Object.fromEntries(
    Object.entries(json).filter(
      ([name, value]) =>
        (typeof value !== 'object' || value === null) && (hasList || name === 'nextPageToken'),
    ),
  )
