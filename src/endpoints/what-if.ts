// GET /api/usage/what-if: the cost that the calls on record would have had on another route. Reads the record in
// parts, so that a million calls take no memory and other reads are answered in between.
import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { repriceAll } from '../routing/what-if.ts'
import type { ReadContext } from './context.ts'
import { invalid, ownKey, spanAnswer, spanOf, spanQuery } from './query.ts'
import * as schemas from './schemas.ts'

/** Number of calls in one read. Repricing them takes a few ms of the main thread. */
const CALLS_PER_READ = 250

const query = z.strictObject({
  ...spanQuery,
  route: z.string().min(1).describe('A route, or `provider/model`.'),
  direct: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true: also reprice calls that named a fixed model.'),
})

const cost = {
  cost_usd: schemas.usd,
  cost_is_minimum: z.boolean(),
  flat_usd: schemas.usd.describe('part for which a subscription pays'),
}
const { count } = schemas

const response = z.strictObject({
  window: schemas.span,
  route: z.string(),
  calls: count.describe('calls that were repriced'),
  recorded: z.strictObject(cost).describe('cost of these calls as on record'),
  repriced: z
    .strictObject({ ...cost, low_usd: schemas.usd, high_usd: schemas.usd })
    .describe('estimated cost; from `low_usd` to `high_usd` if other models write less or more'),
  targets: z.array(
    z.strictObject({
      target: z.string(),
      calls: count,
      cost_usd: schemas.usd,
      input_tokens: count,
      cached_input_tokens: count,
      cache_write_tokens: count,
      output_tokens: count,
    }),
  ),
  outputs: z
    .array(
      z.strictObject({
        from: z.string(),
        to: z.string(),
        calls: count,
        low: z.number().nonnegative(),
        high: z.number().nonnegative(),
        is_known: z.boolean().describe('true: from the output per call on record; false: assumed'),
      }),
    )
    .describe('output of another model, relative to the model that answered'),
  left_out: z.array(z.strictObject({ reason: z.string(), calls: count, text: z.string() })),
  assumed: z.array(z.string()),
  statement: z.string(),
})

export type WhatIfAnswer = z.output<typeof response>

/** Maximum concurrent estimates of all keys. Each key has one. */
const MAX_ESTIMATES = 4

/** Names of the keys whose estimates are running, by the record that they read. */
const running = new WeakMap<ReadContext['instanceCalls'], (string | null)[]>()

export const whatIf = {
  path: '/api/usage/what-if',
  summary:
    'estimated cost of the calls on record on another route; `?route=`, `?window=24h|7d|30d`, `direct=true`',
  query,
  response,
  async answer({ route, direct, ...asked }, { caller, request, requestId }, { whatIf, instanceCalls }) {
    const span = spanOf(asked, timeOfId(requestId))
    const repricing = whatIf(route, direct === 'true')
    if (!repricing) throw invalid('route', 'there is no such route, and no such provider')
    const names = running.get(instanceCalls) ?? []
    const hasOwn = names.includes(caller.name)
    if (hasOwn || names.length >= MAX_ESTIMATES)
      throw new GatewayError(
        'overloaded',
        `${hasOwn ? 'An estimate of this key is' : 'Four estimates are'} already running. Try again when one has finished.`,
        { retryAfter: 10 },
      )
    names.push(caller.name)
    running.set(instanceCalls, names)
    try {
      const read = (after: string) => instanceCalls.past(span, after, CALLS_PER_READ, ownKey(caller))
      await repriceAll(repricing, read, CALLS_PER_READ, () => request.destroyed)
      return { window: spanAnswer(span), route, ...repricing.result() }
    } finally {
      names.splice(names.indexOf(caller.name), 1)
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>
