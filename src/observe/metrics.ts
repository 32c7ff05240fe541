// Metrics for Prometheus. Labels are bounded. Providers, routes and strategies come from the configuration,
// and a model missing there is `other`. A session is never a label, and a key is a label only if it has a
// budget.

import { type Config, configuredModels } from '../config/load.ts'
import { targetId } from '../core/call.ts'
import { roundUsd } from '../core/money.ts'
import { CHORES, type ChoreFailure } from '../core/upkeep.ts'
import { Counter, Gauge, Histogram, joined, type Labels, labels, render } from './figures.ts'
import type { CallEnd, Observer, WatchedCall } from './watch.ts'

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const WRITE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

/** Tiers with their own label. All other tiers have the label `other`. */
const TIERS = new Set([
  'default',
  'standard',
  'on_demand',
  'flex',
  'batch',
  'priority',
  'fast',
  'ultrafast',
  'scale',
])

const KINDS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning'] as const

/** Values that are computed when the metrics are read. */
interface Gauges {
  /** Targets of the configuration, with their cooldown. */
  readonly cooling: () => readonly { provider: string; model: string; cooling: boolean }[]
  /** True if the active configuration equals the file. */
  readonly configurationCurrent: () => boolean
  /** True if the record is writable and readable. Every call requires a writable record. */
  readonly writable: () => boolean
  readonly readable: () => boolean
  /** Chores of upkeep that failed the last time. */
  readonly failingChores: () => readonly ChoreFailure[]
  /** Keys with a budget, with their US dollars in the current period. */
  readonly budgets: () => readonly KeyBudget[]
  /** Number of opened records, by the thread that committed them. */
  readonly openings: () => Readonly<Record<string, number>>
  /** Number of spans that were not sent; undefined without traces. */
  readonly droppedSpans: () => number | undefined
  /** Bytes that are taken from the account of memory. */
  readonly heldBytes: () => number
  /** State of this gateway in its fleet. Undefined outside a fleet, which has no fleet metrics. */
  readonly fleet: () => FleetFigures | undefined
}

interface FleetFigures {
  readonly instance: string
  readonly instances: number
  readonly backlog: number
  readonly failure: string | null
  /** Calls that were counted for a rate limit without the shared log. */
  readonly fallbacks: number
}

export interface KeyBudget {
  readonly key: string
  readonly per: string
  readonly budget: number
  /** Spent US dollars; null for a session, because metrics name no sessions. */
  readonly spent: number | null
  readonly reserved: number | null
}

export interface Metrics extends Observer {
  /** Counts a call that was refused before it was routed. */
  refused(code: string): void
  /** Counts a failure of the gateway itself. */
  failed(): void
  /** Sets the models that have a separate label. */
  configure(config: Pick<Config, 'routes' | 'models'>): void
  /** Returns all metrics in Prometheus' text format. */
  render(): string
}

export function createMetrics(gauges: Gauges): Metrics {
  const series = createSeries()
  const {
    calls,
    attempts,
    fallbacks,
    refused,
    failures,
    tokens,
    cost,
    unpriced,
    losses,
    cache,
    saved,
    served,
  } = series
  const { latency, firstToken, recordWrite } = series
  let open = 0
  const figures = [...Object.values(series), ...gaugesOf(gauges, () => open)]
  const fleetFigures = fleetGaugesOf(gauges)
  const droppedSpans = new Gauge(
    'waybill_telemetry_dropped_spans_total',
    'Spans that no collector accepted.',
    () => [['', gauges.droppedSpans() ?? 0]],
  )
  const { labelsOf, configure } = createTargetLabels()
  const [withOutcome, withRoute, withStrategy] = [joined('outcome'), joined('route'), joined('strategy')]
  const [withState, withKind, withLoss] = [joined('state'), joined('kind'), joined('loss')]
  const withTier = joined('service_tier')

  return {
    opened: () => void open++,
    recorded: (ms) => recordWrite.observe('', ms / 1000),
    attempted({ target, outcome, losses: lost }) {
      attempts.add(withOutcome(labelsOf(target), outcome))
      for (const loss of lost ?? []) losses.add(withLoss(labelsOf(target), loss))
    },
    fellBack: ({ route }) => fallbacks.add(labels('route', route.name ?? '')),
    closed({ call, route }: WatchedCall, { target, outcome, cost: { usd, missing }, savedUsd }: CallEnd) {
      const { state, latencyMs, ttftMs } = outcome
      const where = labelsOf(target)
      open--
      calls.add(withState(withStrategy(withRoute(where, route.name ?? ''), route.strategy), state))
      latency.observe(where, latencyMs / 1000)
      if (call.stream && ttftMs !== null) firstToken.observe(where, ttftMs / 1000)
      if (outcome.tokens)
        for (const kind of KINDS) {
          const count = outcome.tokens[kind]
          if (count) tokens.add(withKind(where, kind), count)
        }
      cache.add(`result="${call.cache}"`)
      if (savedUsd) saved.add(where, savedUsd)
      const tier = outcome.tokens?.served?.service_tier
      if (tier) served.add(withTier(where, TIERS.has(tier) ? tier : 'other'))
      if (missing.length > 0) unpriced.add(where)
      if (usd) cost.add(where, usd)
    },
    refused: (code) => refused.add(labels('code', code)),
    failed: () => failures.add(''),
    configure,
    render: () =>
      render([
        ...figures,
        ...(gauges.fleet() ? fleetFigures : []),
        ...(gauges.droppedSpans() === undefined ? [] : [droppedSpans]),
      ]),
  }
}

/** Builds the metrics that grow with each call. */
function createSeries() {
  const counter = (name: string, help: string, options?: ConstructorParameters<typeof Counter>[2]) =>
    new Counter(`waybill_${name}_total`, help, options)
  const money = { shown: roundUsd }
  const calls = counter('calls', 'Calls that ended, by the target that served or was tried last.')
  const attempts = counter('attempts', 'Attempts that ended.')
  const fallbacks = counter('fallbacks', 'Changes of target inside a call.')
  const refused = counter('refused_calls', 'Calls turned away before they were routed.')
  const failures = counter('internal_errors', 'Failures of the gateway itself.', { plain: true })
  const tokens = counter('tokens', 'Tokens on record.')
  const cost = counter('cost_usd', 'US dollars on record.', money)
  const served = counter(
    'served_tier',
    'Calls that ended, by the tier that served them, if the provider says it.',
  )
  const unpriced = counter('calls_without_cost', 'Calls whose cost is not fully known.')
  const losses = counter('losses', 'Attempts whose translation could not carry this, see docs/losses.md.')
  const cache = counter('cache', 'Calls that ended, by what the response cache did.')
  const saved = counter('saved_usd', 'US dollars that cache hits did not cost.', money)
  const latency = new Histogram('waybill_latency_seconds', 'From arrival to the last byte.', SECONDS)
  const firstToken = new Histogram(
    'waybill_first_token_seconds',
    'From arrival to the first event of a stream.',
    SECONDS,
  )
  const recordWrite = new Histogram(
    'waybill_record_write_seconds',
    'From requesting a write that must precede a request to its commit.',
    WRITE_SECONDS,
  )
  return {
    calls,
    attempts,
    fallbacks,
    refused,
    failures,
    tokens,
    cost,
    served,
    unpriced,
    cache,
    saved,
    losses,
    latency,
    firstToken,
    recordWrite,
  }
}

/** Builds the metrics that are computed when they are read. */
function gaugesOf(gauges: Gauges, open: () => number) {
  const one = (name: string, help: string, value: () => number | boolean) =>
    new Gauge(name, help, () => [['', Number(value())]])
  const budget = (name: 'budget' | 'spent' | 'reserved', help: string) =>
    new Gauge(`waybill_key_${name}_usd`, help, () =>
      gauges.budgets().flatMap((each) => {
        const usd = each[name]
        return usd === null ? [] : [[labels('key', each.key, 'per', each.per), roundUsd(usd)] as const]
      }),
    )
  const cooling = () =>
    gauges
      .cooling()
      .map(
        ({ provider, model, cooling }) =>
          [labels('provider', provider, 'model', model), Number(cooling)] as const,
      )
  return [
    one('waybill_open_calls', 'Calls that are open now.', open),
    // A target that appears in two routes has only one line.
    new Gauge(
      'waybill_target_cooling',
      '1 for a configured target that is being passed over.',
      () => new Map(cooling()),
    ),
    one(
      'waybill_configuration_current',
      '0 while the configuration in the file is rejected and an earlier one is in force.',
      gauges.configurationCurrent,
    ),
    new Gauge(
      'waybill_record_openings_total',
      'Calls put on record: `here` on the main thread; `locked` by the writer thread, because another connection was writing; `together` by it for any other reason.',
      () => Object.entries(gauges.openings()).map(([by, count]) => [labels('by', by), count]),
    ),
    one('waybill_record_writable', '0 while the record is not writable.', gauges.writable),
    one('waybill_record_readable', '0 while the record is not readable.', gauges.readable),
    new Gauge('waybill_chore_failing', '1 for a chore of upkeep that failed the last time.', () => {
      const failing = gauges.failingChores().map(({ chore }) => chore)
      return Object.keys(CHORES).map((chore) => [
        labels('chore', chore),
        Number(failing.some((each) => each === chore)),
      ])
    }),
    budget('budget', 'What a key may spend in a period, US dollars.'),
    budget(
      'spent',
      'What counts as spent of the budget of a key in the present period, US dollars; not for sessions.',
    ),
    budget('reserved', 'What is set aside for the open calls of a key with a budget, US dollars.'),
    one(
      'waybill_memory_held_bytes',
      'Memory taken by requests, answers, messages and conversations, of which server.memory is the limit.',
      gauges.heldBytes,
    ),
    one('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss),
  ]
}

/** Builds the metrics of a gateway in a fleet. */
function fleetGaugesOf({ fleet: standing }: Pick<Gauges, 'fleet'>) {
  const ofFleet = (name: string, help: string, value: (fleet: FleetFigures) => number) =>
    new Gauge(`waybill_fleet_${name}`, help, () => {
      const fleet = standing()
      return fleet ? [[labels('instance', fleet.instance), value(fleet)]] : []
    })
  return [
    ofFleet(
      'instances',
      'Gateways that share the log and are alive; 0 while it is unavailable.',
      ({ instances }) => instances,
    ),
    ofFleet('backlog_calls', 'Calls that the shared log has not received yet.', ({ backlog }) => backlog),
    ofFleet('log_available', '0 while the shared log does not accept calls.', ({ failure }) =>
      Number(failure === null),
    ),
    ofFleet(
      'rate_fallbacks',
      'Calls whose rate was counted without the shared log.',
      ({ fallbacks }) => fallbacks,
    ),
  ]
}

/**
 * Builds the labels of targets: one for each configured target, and one for all other models of each
 * provider.
 */
function createTargetLabels() {
  let known = new Map<string, Labels>()
  const unknown = new Map<string, Labels>()
  const labelsOf = (target: { provider: string; model: string }): Labels => {
    const id = targetId(target)
    const { provider } = target
    const found = known.get(id) ?? unknown.get(provider)
    if (found !== undefined) return found
    const other = labels('provider', provider, 'model', 'other')
    unknown.set(provider, other)
    return other
  }
  return {
    labelsOf,
    configure(config: Pick<Config, 'routes' | 'models'>) {
      known = new Map(
        configuredModels(config).map((id) => {
          const slash = id.indexOf('/')
          return [id, labels('provider', id.slice(0, slash), 'model', id.slice(slash + 1))]
        }),
      )
    },
  }
}
