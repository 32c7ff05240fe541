// The gateway in figures, for Prometheus. Labels are bounded: providers, routes and strategies come from the
// configuration, and a model that it does not name is `other`; a session is never one, and a key only where it has a
// budget.
import { targetId } from '../call.ts'
import type { Config } from '../config.ts'
import { Counter, Gauge, Histogram, joined, type Labels, labels, render } from './figures.ts'
import type { CallEnd, Observer, WatchedCall } from './watch.ts'

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const WRITE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

const KINDS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning'] as const

/** What is asked for when the figures are read. */
export interface Gauges {
  /** Targets of the configuration, and whether each is being passed over. */
  readonly cooling: () => readonly { provider: string; model: string; cooling: boolean }[]
  /** Whether the configuration in the file is the one in force. */
  readonly configurationCurrent: () => boolean
  /** Whether the record can be written, without which no call is made, and read. */
  readonly writable: () => boolean
  readonly readable: () => boolean
  /** Keys that have a budget, US dollars; of this month. */
  readonly budgets: () => readonly KeyBudget[]
  /** Spans that were not sent; undefined where no traces are. */
  readonly droppedSpans: () => number | undefined
  /** How this gateway stands to those that share its log; undefined for one alone, which has no figures of it. */
  readonly fleet: () => FleetFigures | undefined
}

export interface FleetFigures {
  readonly instance: string
  readonly instances: number
  readonly backlog: number
  readonly failure: string | null
  /** Calls whose rate was counted without the shared log. */
  readonly fallbacks: number
}

export interface KeyBudget {
  readonly key: string
  readonly budget: number
  readonly spent: number
  readonly reserved: number
}

export interface Metrics extends Observer {
  /** A call was turned away before it was routed. */
  refused(code: string): void
  /** The gateway itself failed. */
  failed(): void
  /** Which models have a label of their own from now on. */
  configure(config: Pick<Config, 'routes' | 'models'>): void
  /** All figures in Prometheus' text format. */
  render(): string
}

export function createMetrics(gauges: Gauges): Metrics {
  const counter = (name: string, help: string, plain = false) =>
    new Counter(`waybill_${name}_total`, help, plain)
  const calls = counter('calls', 'Calls that ended, by the target that served or was tried last.')
  const attempts = counter('attempts', 'Attempts that ended.')
  const fallbacks = counter('fallbacks', 'Changes of target inside a call.')
  const refused = counter('refused_calls', 'Calls turned away before they were routed.')
  const failures = counter('internal_errors', 'Failures of the gateway itself.', true)
  const tokens = counter('tokens', 'Tokens on record.')
  const cost = counter('cost_usd', 'US dollars on record.')
  const unpriced = counter('calls_without_cost', 'Calls whose cost is not known.')
  const losses = counter('losses', 'Attempts whose translation could not carry this, see docs/losses.md.')
  const cache = counter('cache', 'Calls that ended, by what the response cache did.')
  const saved = counter('saved_usd', 'US dollars that cache hits did not cost.')
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
  let open = 0
  const one = (name: string, help: string, value: () => number | boolean) =>
    new Gauge(name, help, () => [['', Number(value())]])
  const budget = (name: 'budget' | 'spent' | 'reserved', help: string) =>
    new Gauge(`waybill_key_${name}_usd`, help, () =>
      gauges.budgets().map((each) => [labels('key', each.key), each[name]]),
    )
  const cooling = () =>
    gauges
      .cooling()
      .map(
        ({ provider, model, cooling }) =>
          [labels('provider', provider, 'model', model), Number(cooling)] as const,
      )
  const figures = [
    calls,
    attempts,
    fallbacks,
    refused,
    failures,
    tokens,
    cost,
    unpriced,
    cache,
    saved,
    losses,
    latency,
    firstToken,
    recordWrite,
    one('waybill_open_calls', 'Calls that are open now.', () => open),
    // A target of two routes has one line.
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
    one('waybill_record_writable', '0 while the record is not writable.', gauges.writable),
    one('waybill_record_readable', '0 while the record is not readable.', gauges.readable),
    budget('budget', 'What a key may spend in a month, US dollars.'),
    budget('spent', 'What counts as spent of the budget of a key in this month, US dollars.'),
    budget('reserved', 'What is set aside for the open calls of a key with a budget, US dollars.'),
    one('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss),
  ]

  const ofFleet = (name: string, help: string, value: (fleet: FleetFigures) => number) =>
    new Gauge(`waybill_fleet_${name}`, help, () => {
      const fleet = gauges.fleet()
      return fleet ? [[labels('instance', fleet.instance), value(fleet)]] : []
    })
  const droppedSpans = new Gauge(
    'waybill_telemetry_dropped_spans_total',
    'Spans that no collector accepted.',
    () => [['', gauges.droppedSpans() ?? 0]],
  )
  const fleetFigures = [
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

  /** Of the targets that the configuration names, and of every provider for those that it does not. */
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

  const [withOutcome, withRoute, withStrategy] = [joined('outcome'), joined('route'), joined('strategy')]
  const [withState, withKind, withLoss] = [joined('state'), joined('kind'), joined('loss')]

  return {
    opened: () => void open++,
    recorded: (ms) => recordWrite.observe('', ms / 1000),
    attempted({ target, outcome, losses: lost }) {
      attempts.add(withOutcome(labelsOf(target), outcome))
      for (const loss of lost ?? []) losses.add(withLoss(labelsOf(target), loss))
    },
    fellBack: ({ route }) => fallbacks.add(labels('route', route.name ?? '')),
    closed({ call, route }: WatchedCall, { target, outcome, costUsd, savedUsd }: CallEnd) {
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
      if (costUsd === null) unpriced.add(where)
      else if (costUsd > 0) cost.add(where, costUsd)
    },
    refused: (code) => refused.add(labels('code', code)),
    failed: () => failures.add(''),
    configure({ routes, models }) {
      const targets = Object.values(routes).flatMap((route) => route.targets.map(({ model }) => model))
      known = new Map(
        [...Object.keys(models), ...targets].map((id) => {
          const slash = id.indexOf('/')
          return [id, labels('provider', id.slice(0, slash), 'model', id.slice(slash + 1))]
        }),
      )
    },
    render: () =>
      render([
        ...figures,
        ...(gauges.fleet() ? fleetFigures : []),
        ...(gauges.droppedSpans() === undefined ? [] : [droppedSpans]),
      ]),
  }
}
