// GET /api/keys/me: the caller's name, rights and spent budgets. GET /api/keys: the same for every key if the
// caller is an admin, otherwise only for the caller's key.
import { z } from 'zod'
import type { KeyConfig } from '../config/load.ts'
import { timeOfId } from '../core/call.ts'
import { roundUsd } from '../core/money.ts'
import { PERIODS, periodStart } from '../core/period.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { Reads, Span } from '../store/reads.ts'
import type { PeriodUse, ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { time, usd } from './schemas.ts'

const limit = { usd, per: z.enum(PERIODS), unpriced: z.enum(['refuse', 'allow']) }

const use = {
  spent_is_minimum: z
    .boolean()
    .nullable()
    .describe('there are attempts whose cost is neither known nor estimated'),
  estimated_usd: usd.nullable().describe('the part of it that no provider reported'),
  reserved_usd: usd.nullable().describe('set aside for calls that are open now; only with a budget'),
}

const response = z.strictObject({
  name: z.string().nullable().describe('null: no keys are configured'),
  role: z.enum(['client', 'admin']),
  rate: z
    .strictObject({ requests: z.int(), per_ms: z.int() })
    .nullable()
    .describe('number of calls in each window'),
  budget: z.strictObject(limit).nullable().describe('the budget by month, or else the first one'),
  spent_usd: usd.nullable().describe('what counts in this month (UTC), with or without a budget'),
  ...use,
  resets_at: time.describe('when the month ends'),
  budgets: z
    .array(
      z.strictObject({
        ...limit,
        spent_usd: usd
          .nullable()
          .describe('what counts in the present period; null for a session, if none is named'),
        ...use,
        projected_usd: usd
          .nullable()
          .describe(
            "spending at the end of the period, if it goes on at its average since the hour of the key's first call in the period; null in the first two hours, for a session, and while the record cannot be read",
          ),
        resets_at: time.nullable().describe('when the period ends; null for a session, which has no end'),
      }),
    )
    .describe('all budgets of the key'),
})

const query = z.strictObject({
  session_id: z.string().min(1).max(256).optional().describe('the session whose budget is shown'),
})

export const ownKeyRead = {
  path: '/api/keys/me',
  summary:
    'the calling key: name, role, rate, and budgets with the amounts spent and set aside and their reset',
  query,
  response,
  answer: ({ session_id }, { caller: { name, role }, requestId }, context) =>
    described(name, role, timeOfId(requestId), context, session_id),
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

const list = z.strictObject({ object: z.literal('list'), data: z.array(response) })

export const keys = {
  path: '/api/keys',
  summary:
    'the keys that this key may see (for an admin all keys, for a client its own), each as in `/api/keys/me`',
  query: noQuery,
  response: list,
  async answer(_query, { caller, requestId }, context) {
    const seen = context.config.keys.filter(({ name }) => caller.role === 'admin' || name === caller.name)
    const at = timeOfId(requestId)
    return {
      object: 'list',
      data: await Promise.all(seen.map(({ name, role }) => described(name, role, at, context))),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof list>

/** `at`: milliseconds since the epoch. */
async function described(
  name: string | null,
  role: KeyConfig['role'],
  at: number,
  { config, budgetUse, calls }: ReadContext,
  sessionId?: string,
): Promise<z.output<typeof response>> {
  const key = config.keys.find((each) => each.name === name)
  const budgets = key?.budget ?? []
  const month = budgetUse(name, 'month')
  const starts = budgets.flatMap(({ per }) => periodStart(per, at) ?? [])
  const hours =
    starts.length === 0 ? [] : await hoursOf(calls, name!, { since: Math.min(...starts), until: at + 1 })
  return {
    name,
    role,
    rate: key?.rate ? { requests: key.rate.requests, per_ms: key.rate.per } : null,
    budget: budgets.find(({ per }) => per === 'month') ?? budgets[0] ?? null,
    ...amounts(month),
    resets_at: new Date(month.resetsAt!).toISOString(),
    budgets: budgets.map((budget) => {
      const period = budgetUse(name, budget.per, sessionId)
      const { usd, resetsAt } = period
      const since = periodStart(budget.per, at)
      const first = since === null ? undefined : hours.find((hour) => hour >= since)
      return {
        ...budget,
        ...amounts(period),
        projected_usd: usd === null || first === undefined ? null : projected(usd, first, at, resetsAt!),
        resets_at: resetsAt === null ? null : new Date(resetsAt).toISOString(),
      }
    }),
  }
}

const HOUR = 3_600_000

/** Returns the hours of a span in which a key made calls, oldest first; none if the record cannot be read. */
const hoursOf = async (calls: Reads, keyName: string, span: Span): Promise<number[]> => {
  const history = await calls.history(span, { ms: HOUR }, undefined, keyName).catch(() => null)
  return history?.buckets.map(({ start }) => Date.parse(start)) ?? []
}

/** Returns the spending at the end of a period at its average since `first`; null if that is less than two hours ago. */
const projected = (usd: number, first: number, at: number, end: number): number | null =>
  at - first < 2 * HOUR ? null : roundUsd(usd + (usd / (at - first)) * (end - at))

const amounts = ({ usd, estimatedUsd, unknownAttempts, reservedUsd }: PeriodUse) => ({
  spent_usd: rounded(usd),
  spent_is_minimum: unknownAttempts === null ? null : unknownAttempts > 0,
  estimated_usd: rounded(estimatedUsd),
  reserved_usd: rounded(reservedUsd),
})

const rounded = (usd: number | null): number | null => (usd === null ? null : roundUsd(usd))
