// Processes a JSON answer about files and batches before the client receives it. Records new objects,
// restricts lists to the key's own objects, prices finished batches, and replaces addresses by addresses of
// this gateway.
import type { IncomingHttpHeaders } from 'node:http'
import type { CallContext } from '../call/context.ts'
import { timeOfId } from '../core/call.ts'
import type { CallDetail } from '../core/record.ts'
import { isObject, type Json, listOrEmpty, textOf } from '../dialects/json.ts'
import type { Admitted } from '../http/endpoint.ts'
import { uploadsIn, withUploadToken } from '../http/upload-tokens.ts'
import type { ObjectMaker } from '../store/reads.ts'
import { type BatchUsage, priceOfOne, usageOfBatch } from './batch-usage.ts'
import { madeBy, ownOf } from './objects.ts'
import type { Operation } from './operations.ts'

/** Maximum bytes of an answer that is read before it is sent. */
export const MAX_HELD_BYTES = 8 * 2 ** 20

/** Returns true if an operation's answer is read before it is sent, because it is short JSON. */
export const isHeld = ({ group, path }: Operation): boolean =>
  (group === 'files' || group === 'batches') && !/\/(content|results)$|:download$/.test(path)

/** Returns true if an operation starts a batch. */
const startsBatch = ({ group, method, path }: Operation): boolean =>
  group === 'batches' && method === 'POST' && !path.includes('{id}')

export interface HeldAnswer {
  readonly operation: Operation
  readonly admitted: Admitted
  /** The call that made the requested object; null if no object is requested. */
  readonly maker: ObjectMaker | null
  readonly ttftMs: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface ShownAnswer {
  readonly body: Buffer
  /** Id after which the list's next page begins, if nothing on this page may be shown. */
  readonly nextPage: string | null
  /** True if the call stays open until the client fetches its batch. */
  readonly staysOpen: boolean
}

/** Returns the answer for the client. Rejects if the record cannot be read. */
export async function showAnswer(answer: HeldAnswer, context: CallContext): Promise<ShownAnswer> {
  const { operation, admitted, maker, ttftMs, headers, body } = answer
  const read = jsonIn(body)
  const json = read ?? {}
  const made = madeBy(operation, json, headers)
  const staysOpen = startsBatch(operation) && made.length > 0
  if (made.length > 0)
    await context.store.write({
      ...{ kind: 'streaming', id: admitted.requestId, ttftMs, objects: made, staysOpen },
    })
  if (!read) return { body, nextPage: null, staysOpen }
  if (maker && operation.path === '/v1/batches/{id}') await settleIfEnded(json, maker, context)
  const isList = operation.method === 'GET' && !operation.path.includes('{id}')
  const isShared = isList && admitted.caller.role !== 'admin'
  const own = isShared ? await ownOf(json, admitted.caller, context) : json
  if (own !== json && json.has_more === true && isEmpty(own) && textOf(json.last_id) !== '')
    return { body: Buffer.from(JSON.stringify(own)), nextPage: textOf(json.last_id), staysOpen }
  const shown = operation.owner === 'messages' ? withOwnAddresses(own, admitted) : own
  return { body: shown === json ? body : Buffer.from(JSON.stringify(shown)), nextPage: null, staysOpen }
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
  { config }: Pick<CallContext, 'config'>,
): string | null {
  if (typeof address !== 'string') return null
  const [upload] = uploadsIn(address)
  if (upload === undefined) return null
  const query = address.replace(/^[^?]*\?/, '')
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
