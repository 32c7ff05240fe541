// The request log. GET /api/usage/request-logs lists calls, newest first, in pages that neither skip nor
// repeat a row. /{id} returns one call with all its attempts. /{id}/artifact returns its whole exchange while
// the ring contains it. Also the refusals without a record: GET /api/usage/refused-calls, with the gateway's reasons, and GET
// /api/models/refusals, the parameters that providers have refused and that requests therefore leave out (FIT-03).

import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { JsonText, type ReadEndpoint } from '../http/endpoint.ts'
import { learnedUntil } from '../models/learned.ts'
import type { ReadContext } from './context.ts'
import { callList, listArguments, noQuery, ownKey, pageQuery, readsOf, scopeOnly } from './query.ts'
import { attempt, callRecord, count, pageOf, time } from './schemas.ts'

const requestLogsResponse = pageOf(callRecord)

export const requestLogs = {
  path: '/api/usage/request-logs',
  summary: 'the request log, newest first, with filters and pages',
  query: callList,
  response: requestLogsResponse,
  async answer(query, { caller }, context) {
    const [filter, page] = listArguments(query, caller)
    return new JsonText(await readsOf(query, context).listText(filter, page))
  },
} satisfies ReadEndpoint<ReadContext, typeof callList, typeof requestLogsResponse>

const requestLogResponse = callRecord.extend({
  attempt_log: z.array(attempt),
  artifact: z.strictObject({ available: z.boolean(), bytes: z.int().nonnegative() }),
})

export const requestLog = {
  path: '/api/usage/request-logs/*',
  summary: 'one call with all its attempts',
  query: scopeOnly,
  response: requestLogResponse,
  async answer(query, { rest, caller }, context) {
    const found = await readsOf(query, context).find(rest, ownKey(caller))
    if (!found)
      throw new GatewayError('not_found', 'There is no call with this id in the log, or it is not yours.')
    // What a provider says about the operator's account does not concern its clients.
    const attempts = found.attempt_log.map((each) => ({ ...each, refusal: null }))
    return ownKey(caller) === undefined ? found : { ...found, attempt_log: attempts }
  },
} satisfies ReadEndpoint<ReadContext, typeof scopeOnly, typeof requestLogResponse>

/** Values by name; null for a hidden value. */
const headers = z.record(z.string(), z.string().nullable())
const ms = z.number().nonnegative()
const request = z.strictObject({
  method: z.string(),
  path: z.string(),
  headers,
  bytes: count,
  /** Present only if `artifacts.bodies` is true. */
  body: z.string().optional(),
})

const artifactResponse = z.strictObject({
  id: z.uuid(),
  created_at: time,
  request: request.extend({ fields: z.array(z.string()) }),
  exchanges: z.array(
    z.strictObject({
      n: count,
      provider: z.string(),
      model: z.string(),
      at_ms: ms,
      request,
      answer: z.strictObject({
        status: count.nullable(),
        at_ms: ms.nullable(),
        headers,
        bytes: count,
        chunks: z.array(z.strictObject({ at_ms: ms, bytes: count })),
        chunks_left_out: count,
        end: z.string().nullable(),
        ended_at_ms: ms.nullable(),
        body: z.string().optional(),
      }),
    }),
  ),
  outcome: z.strictObject({
    state: z.string(),
    status: count.nullable(),
    error_code: z.string().nullable(),
    latency_ms: ms,
    ttft_ms: ms.nullable(),
  }),
})

export const artifact = {
  path: '/api/usage/request-logs/*/artifact',
  summary: 'the whole exchange of one call: requests, answers, sizes, times; bodies only if they are stored',
  query: noQuery,
  response: artifactResponse,
  async answer(_query, { rest, caller }, { calls }) {
    // Polka also matches the path of one call here, and passes the text that replaces `*`.
    const json = await calls.artifact(rest.replace(/\/artifact$/, ''), ownKey(caller))
    if (json === null)
      throw new GatewayError('not_found', 'There is no artifact of this call any more, or it is not yours.')
    return new JsonText(json)
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof artifactResponse>

const refusedQuery = z.strictObject({ limit: pageQuery.limit })

const refusedResponse = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      id: z.uuid().describe('`request_id` of the answer; there is no record of this id'),
      created_at: time,
      key_name: z.string().nullable(),
      endpoint: z.string(),
      status: z.int(),
      code: z.string(),
      message: z.string().describe('the message that the client got'),
    }),
  ),
})

export const refusedCalls = {
  path: '/api/usage/refused-calls',
  summary:
    'the newest calls that were refused before they had a record (key, limits, body, model), with reasons',
  query: refusedQuery,
  response: refusedResponse,
  answer({ limit }, { caller }, { refusals }) {
    const data = refusals(ownKey(caller), limit).map(({ createdAt, keyName, ...rest }) => ({
      ...rest,
      created_at: new Date(createdAt).toISOString(),
      key_name: keyName,
    }))
    return { object: 'list', data }
  },
} satisfies ReadEndpoint<ReadContext, typeof refusedQuery, typeof refusedResponse>

const refusalsResponse = z.strictObject({
  data: z.array(
    z.strictObject({
      provider: z.string(),
      model: z.string(),
      parameter: z.string(),
      value: z.string().nullable().describe('JSON text of the refused value; null: any'),
      replaced: z.boolean().describe('something else is sent instead, as the provider asked'),
      learned_at: time,
      until: time.describe('when it is forgotten'),
    }),
  ),
})

export const learnedRefusals = {
  path: '/api/models/refusals',
  summary: 'parameters that providers refused, and that requests omit until the refusals are deleted',
  query: noQuery,
  response: refusalsResponse,
  answer: (_query, _admitted, { learned }) => ({
    data: learned().map(({ isReplaced = false, learned_at, ...refusal }) => ({
      ...refusal,
      replaced: isReplaced,
      learned_at,
      until: learnedUntil(learned_at),
    })),
  }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof refusalsResponse>
