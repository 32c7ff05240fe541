// The state of the gateway. Open to all, without key or database: GET /healthz, /readyz and /api/hello. For admins,
// because they cover all keys: GET /metrics, and GET /api/health with the findings of `waybill doctor` that a running
// gateway can make itself. Also its interface, GET /openapi.json, and the recordings that it replays.

import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { endFindings, type Finding, fillFindings, priceFindings } from '../core/findings.ts'
import { CHORES, type Chore, type ChoreFailure, describeFailure } from '../core/upkeep.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { NEWER_PRICES, PRICE_TABLE } from '../pricing/pricing.ts'
import { billComparison, readLastReports } from '../reconcile/bill.ts'
import { dollars, spentText } from '../terminal/numbers.ts'
import type { FleetStanding, ReadContext } from './context.ts'
import { noQuery } from './query.ts'
import { count, recordingSummary, time } from './schemas.ts'

const alive = z.strictObject({ status: z.literal('ok') })

export const healthz = {
  path: '/healthz',
  summary: 'shows that the process is alive; needs no key and no database',
  open: true,
  query: noQuery,
  response: alive,
  answer: () => ({ status: 'ok' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof alive>

/**
 * Calls can be accepted while the store is writable. With an invalid configuration file, the gateway stays in service,
 * because the previous configuration remains active: this answer reports the problem, and the process log has the errors.
 * So does an unreadable record, because calls do not read it.
 */
const ready = z.strictObject({
  status: z.literal('ready'),
  configuration: z.strictObject({
    state: z
      .enum(['current', 'rejected'])
      .describe('rejected: the file is invalid, an earlier configuration is in force'),
    since: z.iso.datetime(),
  }),
  replay: z
    .boolean()
    .describe('Providers answer from recordings: calls cost nothing and count in no budget.'),
  keep_days: z
    .number()
    .nullable()
    .describe('Days for which calls are kept where it is asked for; null if the gateway cannot keep calls.'),
  reads: z
    .enum(['ready', 'restarting'])
    .describe('restarting: reads get 503, because the thread that answers them died and is being restarted'),
  fleet: z
    .strictObject({
      instance: z.string(),
      instances: z.int().nonnegative().describe('that are alive; 0 while the shared log is unavailable'),
      backlog: z.int().nonnegative().describe('calls that the shared log has not received yet'),
      shared_log: z
        .enum(['ready', 'unavailable'])
        .describe('unavailable: reads get 503, except those with scope=instance'),
    })
    .optional()
    .describe('One of several gateways that share a log.'),
})

export const readyz = {
  path: '/readyz',
  summary:
    'shows that calls can be recorded; also reports the state of the configuration, of replay and of reads',
  open: true,
  query: noQuery,
  response: ready,
  answer(_query, _admitted, { storeFailure, readFailure, configuration, config, kept, replay, fleet }) {
    const failure = storeFailure()
    if (failure !== null)
      throw new GatewayError('log_unavailable', `The request log cannot be written: ${failure}.`)
    const { state, since } = configuration()
    const standing = fleet?.()
    return {
      status: 'ready',
      replay,
      configuration: { state, since: new Date(since).toISOString() },
      keep_days: kept && config.keep.days,
      reads: readFailure() === null ? 'ready' : 'restarting',
      ...(standing && {
        fleet: {
          instance: standing.instance,
          instances: standing.instances,
          backlog: standing.backlog,
          shared_log: standing.failure === null ? 'ready' : 'unavailable',
        },
      }),
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof ready>

const greeting = z.strictObject({ message: z.literal('hello') })

/** Claude Code sends this request before its first call, without a key. */
export const hello = {
  path: '/api/hello',
  summary:
    'shows that a gateway is running; needs no key and no database; Claude Code requests it before its first call',
  open: true,
  query: noQuery,
  response: greeting,
  answer: () => ({ message: 'hello' }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof greeting>

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

const figures = z.string()

export const metrics = {
  path: '/metrics',
  summary: 'counters and histograms for Prometheus; with keys, for admins only',
  query: noQuery,
  mediaType: 'text/plain; version=0.0.4; charset=utf-8',
  response: figures,
  answer(_query, { caller }, { metrics }) {
    if (caller.role !== 'admin')
      throw new GatewayError(
        'forbidden',
        'These figures are totals over all keys, so they need an admin key.',
      )
    return metrics()
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof figures>

const description = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ version: z.string() }),
})

export const openapi = {
  path: '/openapi.json',
  summary: 'this interface as an OpenAPI 3.1 document',
  query: noQuery,
  response: description,
  answer: (_query, _admitted, { openApi }) => openApi(),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof description>

const replayed = z.strictObject({
  replay: z.boolean(),
  notes: z.array(z.string()),
  data: z.array(recordingSummary),
})

/** Metadata of the recordings; a live gateway returns an empty list. */
export const recordings = {
  path: '/api/recordings',
  summary: 'with `--replay`, the recordings without their bodies',
  query: noQuery,
  response: replayed,
  answer: (_query, _admitted, { replay, recordings: { notes, list } }) => ({ replay, notes, data: list }),
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof replayed>
