// Operations that are relayed without interpretation: one line for each method and path, in groups that the
// configuration enables. `{id}` is a file, a batch or a skill. A new operation is a line here and, if it can spend money, in
// `../shared/spending.ts`.
import type { IncomingHttpHeaders } from 'node:http'
import type { PASSTHROUGH_NAMES } from '../config/schema.ts'
import { type Spends, spendsOf } from '../shared/spending.ts'

export type PassthroughName = (typeof PASSTHROUGH_NAMES)[number]
/** Vendor of the API, which decides the provider's headers and the format of errors. */
export type Owner = 'chat' | 'messages' | 'gemini'
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface Operation {
  readonly group: PassthroughName
  readonly owner: Owner
  readonly method: Method
  /** As on record. */
  readonly path: string
  readonly spends: Spends
}

const of = (
  group: PassthroughName,
  owner: Owner,
  methods: readonly Method[],
  ...paths: readonly string[]
): Operation[] =>
  paths.flatMap((path) =>
    methods.map((method) => ({ group, owner, method, path, spends: spendsOf(method, belowVersion(path)) })),
  )

/** Returns a path as in the spending table, without the version and the slash before it. */
const belowVersion = (path: string): string => path.replace(/^\/(upload\/)?v\d\w*\//, '$1')

export const OPERATIONS: readonly Operation[] = [
  ...of('audio', 'chat', ['POST'], '/v1/audio/speech', '/v1/audio/transcriptions', '/v1/audio/translations'),
  ...of('moderations', 'chat', ['POST'], '/v1/moderations'),
  ...of('rerank', 'chat', ['POST'], '/v1/rerank', '/v2/rerank'),
  ...of('completions', 'chat', ['POST'], '/v1/completions'),
  ...of('image-edits', 'chat', ['POST'], '/v1/images/edits', '/v1/images/variations'),
  ...of('files', 'chat', ['GET', 'POST'], '/v1/files'),
  ...of('files', 'chat', ['GET', 'DELETE'], '/v1/files/{id}'),
  ...of('files', 'chat', ['GET'], '/v1/files/{id}/content'),
  ...of('files', 'messages', ['GET', 'POST'], '/v1/files'),
  ...of('files', 'messages', ['GET', 'DELETE'], '/v1/files/{id}'),
  ...of('files', 'messages', ['GET'], '/v1/files/{id}/content'),
  ...['v1beta', 'v1', 'v1alpha'].flatMap((version) => [
    ...of('files', 'gemini', ['POST', 'PUT'], `/upload/${version}/files`),
    ...of('files', 'gemini', ['GET'], `/${version}/files`),
    ...of('files', 'gemini', ['GET', 'DELETE'], `/${version}/files/{id}`),
    ...of('files', 'gemini', ['GET'], `/${version}/files/{id}:download`),
  ]),
  ...of('batches', 'chat', ['GET', 'POST'], '/v1/batches'),
  ...of('batches', 'chat', ['GET'], '/v1/batches/{id}'),
  ...of('batches', 'chat', ['POST'], '/v1/batches/{id}/cancel'),
  ...of('batches', 'messages', ['GET', 'POST'], '/v1/messages/batches'),
  ...of('batches', 'messages', ['GET', 'DELETE'], '/v1/messages/batches/{id}'),
  ...of('batches', 'messages', ['POST'], '/v1/messages/batches/{id}/cancel'),
  ...of('batches', 'messages', ['GET'], '/v1/messages/batches/{id}/results'),
  ...(['chat', 'messages'] as const).flatMap((owner) => [
    ...of('skills', owner, ['GET', 'POST'], '/v1/skills', '/v1/skills/{id}/versions'),
    ...of('skills', owner, ['GET', 'DELETE'], '/v1/skills/{id}', '/v1/skills/{id}/versions/{version}'),
    ...of('skills', owner, ['GET'], '/v1/skills/{id}/versions/{version}/content'),
  ]),
  ...of('skills', 'chat', ['POST'], '/v1/skills/{id}'),
  ...of('skills', 'chat', ['GET'], '/v1/skills/{id}/content'),
  ...of('decisions', 'chat', ['POST'], '/v1/decisions'),
  ...of('decisions', 'gemini', ['POST'], '/v1beta/decisions', '/v1/decisions', '/v1alpha/decisions'),
]

/** Returns true for operations on objects that a provider stores. Their answers are JSON about these, or their content. */
export const isAboutObjects = ({ group }: Operation): boolean =>
  group === 'files' || group === 'batches' || group === 'skills'

/** Returns true for the id of a skill that its provider made, which every account knows. */
export const isProvidersSkill = ({ group }: Operation, id: string): boolean =>
  group === 'skills' && !id.startsWith('skill_')

/** Ids of objects and their versions: all characters that providers use, and none with a meaning in a path. */
const ID = '(?<id>[A-Za-z0-9][\\w-]{0,254})'
const VERSION = ID.replace('id', 'version')

const patterns = new Map(
  OPERATIONS.map(
    ({ path }) => [path, new RegExp(`^${path.replace('{id}', ID).replace('{version}', VERSION)}$`)] as const,
  ),
)

/**
 * Returns the owner of a path that several APIs have. Recognizes the owner by headers that only its clients
 * send.
 */
export function ownerOf(headers: IncomingHttpHeaders): Owner {
  if (headers['anthropic-version'] !== undefined) return 'messages'
  const isGoogles = headers['x-goog-api-client'] !== undefined || headers['x-goog-api-key'] !== undefined
  return isGoogles ? 'gemini' : 'chat'
}

/** An operation with the id in its path; null if the path has none. */
export interface Found {
  readonly operation: Operation
  readonly id: string | null
  /** Version of the object; null if the path has none. */
  readonly version: string | null
}

/** Returns the operation of a request; null if there is none at this path. */
export function operationAt(method: string, path: string, headers: IncomingHttpHeaders): Found | null {
  const there = OPERATIONS.flatMap((operation) => {
    const found = operation.method === method ? patterns.get(operation.path)!.exec(path) : null
    const { id = null, version = null } = found?.groups ?? {}
    return found ? [{ operation, id, version }] : []
  })
  return there.find(({ operation }) => operation.owner === ownerOf(headers)) ?? there[0] ?? null
}
