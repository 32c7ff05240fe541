// GET /api/keys/me: the caller's name, rights and spent budget. GET /api/keys: the same for every key if the
// caller is an admin, for its own if it is a client.
import { z } from 'zod'
import { roundUsd } from '../core/money.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { time, usd } from './schemas.ts'

const response = z.strictObject({
  name: z.string().nullable().describe('null: no keys are configured'),
  role: z.enum(['client', 'admin']),
  rate: z
    .strictObject({ requests: z.int(), per_ms: z.int() })
    .nullable()
    .describe('number of calls in each window'),
  budget: z.strictObject({ usd, per: z.literal('month'), unpriced: z.enum(['refuse', 'allow']) }).nullable(),
  spent_usd: usd.nullable().describe('what counts in this month (UTC), with or without a budget'),
  spent_is_minimum: z
    .boolean()
    .nullable()
    .describe('there are attempts whose cost is neither known nor estimated'),
  estimated_usd: usd.nullable().describe('the part of it that no provider reported'),
  reserved_usd: usd.nullable().describe('set aside for calls that are open now; only with a budget'),
  resets_at: time.describe('when the month ends'),
})

export const ownKeyRead = {
  path: '/api/keys/me',
  summary:
    'the calling key: name, role, rate, budget, how much of it is spent and set aside, and when it resets',
  query: noQuery,
  response,
  answer: (_query, { caller: { name, role } }, context) => described(name, role, context),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

const list = z.strictObject({ object: z.literal('list'), data: z.array(response) })

export const keys = {
  path: '/api/keys',
  summary: 'the keys that this key may see (an admin all, a client its own), each as in `/api/keys/me`',
  query: noQuery,
  response: list,
  answer(_query, { caller }, context) {
    const seen = context.config.keys.filter(({ name }) => caller.role === 'admin' || name === caller.name)
    return { object: 'list', data: seen.map(({ name, role }) => described(name, role, context)) }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof list>

function described(
  name: string | null,
  role: z.output<typeof response>['role'],
  { config, budgetUse }: ReadContext,
) {
  const key = config.keys.find((each) => each.name === name)
  const { usd, estimatedUsd, unknownAttempts, reservedUsd, resetsAt } = budgetUse(name)
  return {
    name,
    role,
    rate: key?.rate ? { requests: key.rate.requests, per_ms: key.rate.per } : null,
    budget: key?.budget ?? null,
    spent_usd: rounded(usd),
    spent_is_minimum: unknownAttempts === null ? null : unknownAttempts > 0,
    estimated_usd: rounded(estimatedUsd),
    reserved_usd: rounded(reservedUsd),
    resets_at: new Date(resetsAt).toISOString(),
  }
}

const rounded = (usd: number | null): number | null => (usd === null ? null : roundUsd(usd))
