// GET /api/health: the findings of `waybill doctor` that a running gateway can make itself, including how
// full the record is and how old the prices are. For admins, because it covers all keys. GET /healthz: the process is
// alive. Needs no key and no database, and accepts any Host.
import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { endFindings, type Finding, fillFindings, priceFindings } from '../core/findings.ts'
import { CHORES, type Chore, type ChoreFailure, describeFailure } from '../core/upkeep.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { NEWER_PRICES, PRICE_TABLE } from '../pricing/pricing.ts'
import { billComparison, readLastReports } from '../reconcile/last-report.ts'
import { dollars, spentText } from '../terminal/numbers.ts'
import type { FleetStanding, ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { count, time } from './schemas.ts'

const alive = z.strictObject({ status: z.literal('ok') })

export const healthz = {
  path: '/healthz',
  summary: 'shows that the process is alive; needs no key and no database',
  open: true,
  query: noQuery,
  response: alive,
  answer: () => ({ status: 'ok' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof alive>

const response = z.strictObject({
  version: z.string(),
  started_at: time,
  replay: z.boolean(),
  findings: z.array(z.strictObject({ verdict: z.enum(['ok', 'note', 'BAD']), text: z.string() })),
  record: z.strictObject({
    directory: z.string().describe('where the record is, on the machine of the gateway'),
    calls: count,
    caps: z.array(
      z.strictObject({
        name: z.enum(['rows', 'days', 'bytes']),
        have: z.number().nonnegative(),
        cap: z.number().nonnegative(),
      }),
    ),
    durability: z.string(),
    artifacts: z.strictObject({ keep: count, bytes: count, bodies: z.boolean() }),
  }),
  prices: z.strictObject({
    table: z.string().describe('the package that they come from, with its version'),
    date: z.iso.date().describe('when this version was published'),
    own: count.describe('models whose price the configuration sets'),
  }),
  failing_chores: z
    .array(z.strictObject({ chore: z.enum(Object.keys(CHORES) as [Chore]), reason: z.string(), since: time }))
    .describe('chores of upkeep that failed the last time; calls continue meanwhile'),
  bills: z
    .array(billComparison)
    .describe('the last comparison with each bill that `waybill reconcile` made; a read never fetches one'),
})

export const health = {
  path: '/api/health',
  summary: 'problems of the running gateway, size of its record, age of its prices; for admins',
  query: noQuery,
  response,
  async answer(_query, { caller, requestId }, context) {
    if (caller.role !== 'admin')
      throw new GatewayError('forbidden', 'This covers all keys, so it needs an admin key.')
    const { config, calls, about, replay } = context
    const { calls: onRecord, fills } = await calls.fill(config.retention, timeOfId(requestId))
    return {
      version: about.version,
      started_at: new Date(about.startedAt).toISOString(),
      replay,
      findings: [
        ...gatewayFindings(context),
        ...fillFindings(fills, true),
        ...budgetFindings(context),
        ...priceFindings(config),
        ...endFindings(config),
      ],
      record: {
        directory: about.directory,
        calls: onRecord,
        caps: fills,
        durability: config.durability,
        artifacts: config.artifacts,
      },
      prices: {
        table: `${PRICE_TABLE.name} ${NEWER_PRICES.version}`,
        date: NEWER_PRICES.date,
        own: Object.values(config.models).filter(({ price }) => price !== undefined).length,
      },
      failing_chores: context.failingChores().map(({ chore, reason, since }) => {
        return { chore, reason, since: new Date(since).toISOString() }
      }),
      bills: readLastReports(about.directory),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof response>

function gatewayFindings({
  storeFailure,
  readFailure,
  faults,
  failingChores,
  configuration,
  replay,
  config,
  fleet,
}: ReadContext): Finding[] {
  const [unwritable, unreadable] = [storeFailure(), readFailure()]
  const standing = fleet?.()
  const { state, since } = configuration()
  return [
    unwritable === null
      ? { verdict: 'ok', text: 'calls can be recorded, so they are accepted' }
      : { verdict: 'BAD', text: `the record cannot be written, so calls are refused: ${unwritable}` },
    unreadable === null
      ? { verdict: 'ok', text: 'the record can be read' }
      : { verdict: 'BAD', text: `the record cannot be read: ${unreadable}` },
    ...(faults.count > 0 ? [faultFinding(faults)] : []),
    ...(standing ? [sharedLogFinding(standing)] : []),
    ...choreFindings(failingChores()),
    state === 'current'
      ? { verdict: 'ok', text: 'the configuration in force is the one in the file' }
      : {
          verdict: 'BAD',
          text: `the file was changed and rejected at ${new Date(since).toISOString()}; an earlier configuration is in force, and the process log says why`,
        },
    ...(replay
      ? [
          {
            verdict: 'note' as const,
            text: 'providers are replayed: no call reaches them, and nothing is spent',
          },
        ]
      : []),
    config.keys.length > 0
      ? { verdict: 'ok', text: `${config.keys.length} keys are configured` }
      : {
          verdict: 'note',
          text: 'no keys are configured, so anyone who can reach this address may call and read',
        },
  ]
}

const faultFinding = ({ count, last }: ReadContext['faults']): Finding => ({
  verdict: 'BAD',
  text: `the gateway itself failed ${count} times since its start, last at ${new Date(last).toISOString()}; the process log says why`,
})

const choreFindings = (failing: readonly ChoreFailure[]): Finding[] =>
  failing.length === 0
    ? [{ verdict: 'ok', text: 'every chore of upkeep works, such as the deletion of old calls' }]
    : failing.map((failure) => ({ verdict: 'BAD', text: describeFailure(failure) }))

const sharedLogFinding = ({ failure, instances, backlog }: FleetStanding): Finding =>
  failure === null
    ? { verdict: 'ok', text: `the shared log answers; ${instances} gateways are alive` }
    : { verdict: 'BAD', text: `the shared log is unavailable, and ${backlog} calls wait for it: ${failure}` }

/** Share of a budget from which a finding warns that the budget will run out. */
const BUDGET_WARNING_SHARE = 0.8

function budgetFindings({ config, budgetUse }: ReadContext): Finding[] {
  const budgets = config.keys.flatMap(({ name, budget = [] }) =>
    budget.map((each) => ({ name, budget: each })),
  )
  return budgets.flatMap(({ name, budget }): Finding[] => {
    const { usd, estimatedUsd, unknownAttempts } = budgetUse(name, budget.per)
    const spent = usd ?? 0
    if (spent < budget.usd * BUDGET_WARNING_SHARE) return []
    const text = `the key "${name}" has spent ${spentText({ spent_usd: spent, spent_is_minimum: !!unknownAttempts, estimated_usd: estimatedUsd })} of its ${dollars(budget.usd)} this ${budget.per} (UTC)`
    return [
      spent < budget.usd
        ? { verdict: 'note', text: `${text}; its calls are refused when the budget is spent` }
        : {
            verdict: 'note',
            text: `${text}; its calls are refused until the ${budget.per} ends; to allow them, raise its budget`,
          },
    ]
  })
}
