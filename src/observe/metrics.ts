// The gateway in figures, for Prometheus. Labels are bounded: providers, routes and strategies come from the
// configuration, and a model that it does not name is `other`; a session is never one, and a key only where it has a
// budget. Registry per gateway.
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { targetId } from '../call.ts'
import type { Config } from '../config.ts'
import type { CallEnd, Observer, WatchedCall } from './watch.ts'

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const WRITE_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]

const KINDS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning'] as const

/** What is asked for when somebody looks. */
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
  render(): Promise<string>
}

export function createMetrics(gauges: Gauges): Metrics {
  const registers = [new Registry()]
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `waybill_${name}_total`, help, labelNames, registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ) => new Histogram({ name: `waybill_${name}_seconds`, help, buckets, labelNames, registers })

  const calls = counter(
    'calls',
    'Calls that ended, by the target that served or was tried last.',
    'provider',
    'model',
    'route',
    'strategy',
    'state',
  )
  const attempts = counter('attempts', 'Attempts that ended.', 'provider', 'model', 'outcome')
  const fallbacks = counter('fallbacks', 'Changes of target inside a call.', 'route')
  const refused = counter('refused_calls', 'Calls turned away before they were routed.', 'code')
  const failures = counter('internal_errors', 'Failures of the gateway itself.')
  const tokens = counter('tokens', 'Tokens on record.', 'provider', 'model', 'kind')
  const cost = counter('cost_usd', 'US dollars on record.', 'provider', 'model')
  const unpriced = counter('calls_without_cost', 'Calls whose cost is not known.', 'provider', 'model')
  const cache = counter('cache', 'Calls that ended, by what the response cache did.', 'result')
  const saved = counter('saved_usd', 'US dollars that cache hits did not cost.', 'provider', 'model')
  const latency = histogram('latency', 'From arrival to the last byte.', SECONDS, 'provider', 'model')
  const firstToken = histogram(
    'first_token',
    'From arrival to the first event of a stream.',
    SECONDS,
    'provider',
    'model',
  )
  const recordWrite = histogram(
    'record_write',
    'From asking for a write that must precede a request to its commit.',
    WRITE_SECONDS,
  )
  const open = new Gauge({ name: 'waybill_open_calls', help: 'Calls that are open now.', registers })
  new Gauge({
    name: 'waybill_target_cooling',
    help: '1 for a target of the configuration that is being passed over.',
    labelNames: ['provider', 'model'],
    registers,
    collect() {
      this.reset()
      for (const { provider, model, cooling } of gauges.cooling())
        this.set({ provider, model }, cooling ? 1 : 0)
    },
  })
  new Gauge({
    name: 'waybill_configuration_current',
    help: '0 while the configuration in the file was rejected and an earlier one is in force.',
    registers,
    collect() {
      this.set(gauges.configurationCurrent() ? 1 : 0)
    },
  })
  for (const can of ['writable', 'readable'] as const)
    new Gauge({
      name: `waybill_record_${can}`,
      help: `0 while the record is not ${can}.`,
      registers,
      collect() {
        this.set(gauges[can]() ? 1 : 0)
      },
    })
  for (const [name, help] of [
    ['budget', 'What a key may spend in a month, US dollars.'],
    ['spent', 'What counts of the budget of a key in this month, US dollars.'],
    ['reserved', 'What is set aside for the open calls of a key with a budget, US dollars.'],
  ] as const)
    new Gauge({
      name: `waybill_key_${name}_usd`,
      help,
      labelNames: ['key'],
      registers,
      collect() {
        this.reset()
        for (const each of gauges.budgets()) this.set({ key: each.key }, each[name])
      },
    })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })

  let known = new Set<string>()
  const labels = (target: { provider: string; model: string }) => ({
    provider: target.provider,
    model: known.has(targetId(target)) ? target.model : 'other',
  })

  return {
    opened: () => open.inc(),
    recorded: (ms) => recordWrite.observe(ms / 1000),
    attempted: ({ target, outcome }) => attempts.inc({ ...labels(target), outcome }),
    fellBack: ({ route }) => fallbacks.inc({ route: route.name ?? '' }),
    closed({ call, route }: WatchedCall, { target, outcome, costUsd, savedUsd }: CallEnd) {
      const { state, latencyMs, ttftMs } = outcome
      const where = labels(target)
      open.dec()
      calls.inc({ ...where, route: route.name ?? '', strategy: route.strategy, state })
      latency.observe(where, latencyMs / 1000)
      if (call.stream && ttftMs !== null) firstToken.observe(where, ttftMs / 1000)
      if (outcome.tokens)
        for (const kind of KINDS) {
          const count = outcome.tokens[kind]
          if (count) tokens.inc({ ...where, kind }, count)
        }
      cache.inc({ result: call.cache })
      if (savedUsd) saved.inc(where, savedUsd)
      if (costUsd === null) unpriced.inc(where)
      else if (costUsd > 0) cost.inc(where, costUsd)
    },
    refused: (code) => refused.inc({ code }),
    failed: () => failures.inc(),
    configure({ routes, models }) {
      const targets = Object.values(routes).flatMap((route) => route.targets.map(({ model }) => model))
      known = new Set([...Object.keys(models), ...targets])
    },
    render: () => registers[0]!.metrics(),
  }
}
