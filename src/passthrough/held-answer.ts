// Processes a JSON answer about files and batches before the client receives it. Records new objects, restricts lists to
// the key's own objects, prices finished batches, and replaces addresses by addresses of this gateway. `src/call/objects.ts`
// decides to whom an object belongs.

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallContext } from '../call/context.ts'
import { mayReach, type Records } from '../call/objects.ts'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { CallDetail } from '../core/record.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../dialects/json.ts'
import { type Caller, uploadsIn, withUploadToken } from '../http/caller.ts'
import type { Admitted } from '../http/endpoint.ts'
import { holdsMoreValues } from '../shared/bounded.ts'
import type { ObjectMaker } from '../store/reads.ts'
import { type BatchUsage, priceOfOne, usageOfBatch } from './batch-usage.ts'
import { isAboutObjects, isProvidersSkill, type Operation, type Owner } from './operations.ts'

/** Maximum bytes of an answer that is read before it is sent. */
export const MAX_HELD_BYTES = 8 * 2 ** 20

/** Returns true if an operation's answer is read before it is sent, because it is short JSON. */
export const isHeld = (operation: Operation): boolean =>
  isAboutObjects(operation) && !/\/(content|results)$|:download$/.test(operation.path)

/** Returns true if an operation starts a batch. */
const startsBatch = ({ group, method, path }: Operation): boolean =>
  group === 'batches' && method === 'POST' && !path.includes('{id}')

interface HeldAnswer {
  readonly operation: Operation
  readonly admitted: Admitted
  /** The call that made the requested object; null if no object is requested. */
  readonly maker: ObjectMaker | null
  readonly ttftMs: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface ShownAnswer {
  readonly body: Buffer
  /** Id after which the list's next page begins, if nothing on this page may be shown. */
  readonly nextPage: string | null
  /** True if the call stays open until the client fetches its batch. */
  readonly staysOpen: boolean
}

/** Bytes from which an answer waits for its turn. */
const LARGE_BYTES = 2 ** 18

/** Maximum JSON values of an answer. The longest lists have some hundred thousand. */
const MAX_VALUES = 1_000_000

/** The end of the last large answer that is being read. */
let lastLarge: Promise<unknown> = Promise.resolve()

/**
 * Returns the answer for the client. Rejects if the record cannot be read. Large answers are read one after the
 * other, and other calls have their turn between two steps, because each step takes the main thread for up to a
 * tenth of a second.
 */
export function showAnswer(answer: HeldAnswer, context: CallContext): Promise<ShownAnswer> {
  if (answer.body.length < LARGE_BYTES) return show(answer, context, async () => {})
  const shown = lastLarge.then(() => show(answer, context, nextTurn))
  lastLarge = shown.then(nextTurn, nextTurn)
  return shown
}

async function show(
  answer: HeldAnswer,
  context: CallContext,
  turn: () => Promise<unknown>,
): Promise<ShownAnswer> {
  const { operation, admitted, maker, ttftMs, headers, body } = answer
  if (holdsMoreValues(body, MAX_VALUES))
    throw new GatewayError('upstream_invalid', `The answer has more than ${MAX_VALUES} JSON values.`)
  const read = jsonIn(body)
  await turn()
  const json = read ?? {}
  const made = madeBy(operation, json, headers).map(context.mask)
  const staysOpen = startsBatch(operation) && made.length > 0
  if (made.length > 0)
    await context.store.write({
      ...{ kind: 'streaming', id: admitted.requestId, ttftMs, objects: made, staysOpen },
    })
  const isList = operation.method === 'GET' && !operation.path.includes('{id}')
  const isShared = isList && admitted.caller.role !== 'admin'
  // A client might read what is not JSON here, with the objects of other keys.
  if (!read && isShared) throw new GatewayError('upstream_invalid', 'The list of the provider is not JSON.')
  if (!read) return { body, nextPage: null, staysOpen }
  if (maker && operation.path === '/v1/batches/{id}') await settleIfEnded(json, maker, context)
  const own = isShared ? await ownOf(json, operation, admitted.caller, context) : json
  if (own !== json && json.has_more === true && isEmpty(own) && textOf(json.last_id) !== '')
    return { body: written(own), nextPage: textOf(json.last_id), staysOpen }
  await turn()
  const shown = operation.owner === 'messages' ? withOwnAddresses(own, admitted) : own
  return { body: shown === json ? body : written(shown), nextPage: null, staysOpen }
}

/** Returns an answer as bytes. A nesting that can be read may be too deep to be written. */
function written(json: Json): Buffer {
  try {
    return Buffer.from(JSON.stringify(json))
  } catch (cause) {
    throw new GatewayError('upstream_invalid', 'The answer of the provider is nested too deep.', { cause })
  }
}

const isEmpty = (list: Json): boolean => listOrEmpty(list.data ?? list.files).length === 0

/**
 * Replaces the addresses of results by addresses of this gateway. Otherwise clients would send their keys
 * elsewhere.
 */
function withOwnAddresses(json: Json, admitted: Admitted): Json {
  if (Array.isArray(json.data))
    return {
      ...json,
      data: json.data.map((each) => (isObject(each) ? withOwnAddresses(each, admitted) : each)),
    }
  if (typeof json.results_url !== 'string') return json
  const path = `/v1/messages/batches/${encodeURIComponent(textOf(json.id))}/results`
  return { ...json, results_url: `${originOf(admitted)}${path}` }
}

/** Returns the address at this gateway for a part of an upload; null if the provider names no address. */
export function ownUploadAddress(
  address: unknown,
  admitted: Admitted,
  { config, mask }: Pick<CallContext, 'config' | 'mask'>,
): string | null {
  if (typeof address !== 'string') return null
  const [upload] = uploadsIn(address)
  if (upload === undefined) return null
  const query = mask(address.replace(/^[^?]*\?/, ''))
  const ours = withUploadToken(query, upload, config.keys, admitted.caller.name)
  return `${originOf(admitted)}/upload/v1beta/files?${ours}`
}

/** Returns the gateway's own address, as used by the client. */
const originOf = ({ request: { headers } }: Admitted): string =>
  `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${headers.host}`

async function settleIfEnded(json: Json, maker: ObjectMaker, context: CallContext): Promise<void> {
  const usage = usageOfBatch(json, priceOfOne(maker, context.price, context.now()))
  const results = [json.output_file_id, json.error_file_id].map(textOf).filter(Boolean)
  const record = await openBatch(maker, context)
  if (!record) return
  await addObjects(record, results, context)
  if (usage) await settleBatch(maker, usage, context)
}

/** Returns the record of a batch; null if it is closed, or if the call made something else. */
export async function openBatch(
  { call_id }: ObjectMaker,
  { store }: Pick<CallContext, 'store'>,
): Promise<CallDetail | null> {
  const record = await store.calls.find(call_id)
  return record?.completed_at === null && record.endpoint.endsWith('/batches') ? record : null
}

/** Puts the files that the provider made for a batch on record. */
async function addObjects(
  { id, ttft_ms: ttftMs, objects }: CallDetail,
  results: readonly string[],
  { store }: CallContext,
): Promise<void> {
  const all = [...new Set([...(objects ?? []), ...results])]
  if (all.length > (objects ?? []).length)
    await store.write({ kind: 'streaming', id, ttftMs: ttftMs ?? 0, objects: all })
}

/** Closes the record of a batch that has ended. */
export async function settleBatch(
  maker: ObjectMaker,
  { model, tokens, cost }: BatchUsage,
  context: CallContext,
): Promise<void> {
  const { store, mask, now } = context
  const record = await openBatch(maker, context)
  if (!record) return
  const at = now()
  const { id, ttft_ms: ttftMs, fallbacks, tier, resolved_model } = record
  const target = { provider: maker.provider, model: resolved_model, tier }
  await store.write({
    ...{ kind: 'close', id, at, target, fallbacks, requestsSent: record.attempts, releases: true },
    ended: {
      ...{ n: record.attempt_log.at(-1)?.n ?? 1, target, outcome: 'answered', status: 200 },
      ...{ errorCode: null, tokens, transport: 'http' },
    },
    cost: { ...cost, price: null },
    outcome: {
      ...{ state: 'completed', status: 200, errorCode: null, ttftMs, tokens },
      responseModel: model ? mask(model) : null,
      latencyMs: at - timeOfId(id),
    },
  })
}

function jsonIn(body: Buffer): Json | null {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'))
    return isObject(json) ? json : null
  } catch {
    return null
  }
}

/** Returns the recorded name of the object in a path. */
export const nameInPath = (id: string, owner: Owner): string => (owner === 'gemini' ? `files/${id}` : id)

/** Returns the name of an upload in parts. Google's clients know only its id. */
export const uploadName = (id: string): string =>
  `upload-${createHash('sha256').update(id).digest('base64url')}`

/** Returns the names of the objects that the provider has made, according to an answer. */
function madeBy({ method, path }: Operation, json: Json, headers: IncomingHttpHeaders): string[] {
  if (method !== 'POST' && method !== 'PUT') return []
  if (path.includes('{id}')) return []
  if (!path.startsWith('/upload/')) return [textOf(json.id)].filter(Boolean)
  const uploads = uploadsIn(String(headers['x-goog-upload-url'] ?? ''))
  return [textOf(member(json.file, 'name')), ...uploads.map(uploadName)].filter(Boolean)
}

/** Returns a list with only the objects that a caller may reach. */
async function ownOf(json: Json, operation: Operation, caller: Caller, context: Records): Promise<Json> {
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
