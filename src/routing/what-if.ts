// Reprices calls on record as if another route had served them: tokens as on record, targets by the gateway's
// own router with a clock that follows the record, caches simulated, failures as often as on record. Pure; the
// calls come in the order in which they were made. Memory does not grow with their number.
import type { Config } from '../config/load.ts'
import { type Target, type Tokens, targetId, timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { PastCall } from '../core/record.ts'
import { PLAIN } from '../core/request-traits.ts'
import type { RecordUsage } from '../core/served.ts'
import { createPricer, type Pricer, pricingOf } from '../pricing/pricing.ts'
import { seeded } from '../shared/chance.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { createRouter, type Routed, type Router } from './router.ts'
import { type CacheFacts, Drawn, SimulatedCaches } from './simulated-caches.ts'
import type { CanTranslate, IsForAccount } from './table.ts'

/** Reasons for which a call is not repriced, in words for people. */
const LEFT_OUT = {
  fixed_model: 'named a fixed model',
  other_endpoint: 'were no conversation',
  gateway_cache: "came from the gateway's cache",
  replayed: 'were answered from recordings',
  not_ended: 'have not ended',
  not_answered: 'were not answered',
  no_usage: 'have no usage',
  no_target: 'suit no target of the route',
  no_price: 'would go to a target without a price',
} as const
type LeftOut = keyof typeof LEFT_OUT

interface WhatIfDeps {
  readonly config: Config
  /** Name of the route, or a `provider/model`. */
  readonly route: string
  /** True if calls that named a fixed model are repriced as well. */
  readonly direct: boolean
  readonly canTranslate: CanTranslate
  readonly isForAccount: IsForAccount
  /** Returns the dialect of a recorded endpoint; undefined if it serves no conversations. */
  readonly dialectOf: (endpoint: string) => string | undefined
  /** Returns the facts about a target's cache; undefined if nothing is known. */
  readonly cacheOf: (target: string) => CacheFacts | undefined
}

type TargetSum = {
  readonly target: string
  calls: number
  cost_usd: number
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
}

/** A target as on record. */
interface OnRecord {
  readonly fails: Drawn
  calls: number
  output: number
  /** Sum of the times to the response start, ms. */
  waits: number
  /** True if an answer reported tokens that were written to the cache. */
  writes: boolean
}

/** Calls of one model that another would have answered. */
interface Moved {
  readonly from: string
  readonly to: string
  calls: number
  /** Cost of their output. */
  usd: number
}

/** Minimum number of calls from which a target's own figures are used. */
const MIN_KNOWN = 30
/** Range of the output of another model if its own calls are not on record. */
const UNKNOWN_RATIO = { low: 0.5, high: 2 }
/** Facts about a cache of which nothing is known. */
const USUAL_CACHE: CacheFacts = { by: 'provider', min: 1_024, step: 1 }
const USUAL_LIFE_MS = 5 * 60_000

export class WhatIf {
  readonly #deps: WhatIfDeps
  readonly #router: Router
  readonly #price: Pricer
  readonly #caches: SimulatedCaches
  /** Time of the simulated call, ms since the epoch. */
  #time = 0
  readonly #onRecord = new Map<string, OnRecord>()
  /** Failures of all targets on record. */
  readonly #allFails = new Drawn()
  /** Targets with attempts whose result is not on record. */
  readonly #drawn = new Map<string, Drawn>()
  readonly #sums = new Map<string, TargetSum>()
  readonly #moved = new Map<string, Moved>()
  readonly #left: { [Reason in LeftOut]?: number } = {}
  readonly #before = { cost_usd: 0, cost_is_minimum: false, flat_usd: 0 }
  readonly #after = { cost_usd: 0, cost_is_minimum: false, flat_usd: 0 }
  #calls = 0

  constructor(deps: WhatIfDeps) {
    const { config, canTranslate, isForAccount, cacheOf } = deps
    this.#deps = deps
    const now = () => this.#time
    this.#router = createRouter(config, { now, random: seeded(0), canTranslate, isForAccount })
    this.#price = createPricer(pricingOf(config))
    const lifeOf = (target: string) =>
      config.providers[target.slice(0, target.indexOf('/'))]?.prompt_cache ?? USUAL_LIFE_MS
    this.#caches = new SimulatedCaches((target) => cacheOf(target) ?? USUAL_CACHE, lifeOf)
  }

  /** Reprices the next call. */
  add(call: PastCall): void {
    const failed = call.failed?.split('\n') ?? []
    const leftOut = this.#leftOut(call) ?? this.#reprice(call, failed)
    if (leftOut !== null) this.#left[leftOut] = (this.#left[leftOut] ?? 0) + 1
    this.#note(call, failed)
  }

  #leftOut(call: PastCall): LeftOut | null {
    const { state, cache, replayed, route, tokens_input, tokens_output } = call
    if (this.#deps.dialectOf(call.endpoint) === undefined) return 'other_endpoint'
    if (replayed) return 'replayed'
    if (cache === 'HIT') return 'gateway_cache'
    if (route === null && !this.#deps.direct) return 'fixed_model'
    if (state === 'routed' || state === 'streaming') return 'not_ended'
    if (tokens_input !== null && tokens_output !== null) return null
    return state === 'completed' ? 'no_usage' : 'not_answered'
  }

  #reprice(call: PastCall, failed: readonly string[]): LeftOut | null {
    const at = timeOfId(call.id)
    this.#time = at
    const routed = this.#route(call)
    if (!routed) return 'no_target'
    const target = this.#serve(routed, call, failed)
    const id = targetId(target)
    const usage = JSON.parse(call.usage ?? '{}') as RecordUsage
    const cached = this.#caches.serve(call, id, usage.cache_write_1h ?? 0)
    const tokens = tokensOf(call, usage, cached, this.#onRecord.get(id)?.writes !== false)
    routed.tracker.served(target, null, tokens, call.latency_ms ?? 0)
    routed.tracker.over()
    const end = at + (call.latency_ms ?? 0)
    const { usd, missing, flat } = this.#price(target, tokens, end)
    if (usd === null) return 'no_price'

    this.#calls++
    const { cost_usd, flat_usd } = call
    addTo(this.#before, cost_usd ?? 0, flat_usd ?? 0, cost_usd === null || call.cost_missing !== '[]')
    addTo(this.#after, usd, flat ? usd : 0, missing.length > 0)
    const sum = this.#sums.get(id) ?? noCalls(id)
    this.#sums.set(id, sum)
    sum.calls++
    sum.cost_usd += usd
    sum.input_tokens += tokens.input!
    sum.cached_input_tokens += tokens.cached_input!
    sum.cache_write_tokens += tokens.cache_write ?? 0
    sum.output_tokens += tokens.output!
    if (isOtherModel(call.target, id)) {
      const silent = this.#price(target, { ...tokens, output: 0 }, end).usd ?? usd
      const key = `${call.target}\n${id}`
      const moved = this.#moved.get(key) ?? { from: call.target, to: id, calls: 0, usd: 0 }
      this.#moved.set(key, moved)
      moved.calls++
      moved.usd += usd - silent
    }
    return null
  }

  /** Returns the present route of a call; null if the route cannot serve it. */
  #route({ endpoint, session_id, agent_id, purpose, key_name, client, tokens_input }: PastCall) {
    try {
      return this.#router.route(this.#deps.route, {
        dialect: this.#deps.dialectOf(endpoint)!,
        ...{ sessionId: session_id, agentId: agent_id, keyName: key_name },
        ...(purpose && { purpose }),
        traits: { ...PLAIN, ...(purpose && { purpose }), client, inputTokens: tokens_input! },
      })
    } catch (error) {
      if (error instanceof GatewayError) return null
      throw error
    }
  }

  /** Returns the target that answers. The last candidate always does, because the call was answered. */
  #serve({ route, tracker }: Routed, call: PastCall, failed: readonly string[]): Target {
    const last = route.candidates.at(-1)!
    const target = route.candidates.find((each) => {
      tracker.attempt(each, this.#time)
      const fails = each !== last && this.#fails(targetId(each), call, failed)
      if (fails) this.#router.cool(each, this.#deps.config.resilience.cooldown)
      return !fails
    })!
    const known = this.#onRecord.get(targetId(target))
    tracker.answered(this.#time + (known?.calls ? known.waits / known.calls : (call.ttft_ms ?? 0)))
    return target
  }

  /** Returns true if a target fails: as on record for this call, otherwise as often as on record. */
  #fails(id: string, call: PastCall, failed: readonly string[]): boolean {
    if (failed.includes(id)) return true
    if (id === call.target) return false
    const drawn = this.#drawn.get(id) ?? new Drawn()
    this.#drawn.set(id, drawn)
    return drawn.draw(call.tokens_input!, this.#failureShare(id))
  }

  #failureShare(id: string): number {
    const usual = this.#allFails.share()
    return this.#onRecord.get(id)?.fails.share(usual) ?? usual
  }

  /** Counts the attempts of a call for the figures of their targets. */
  #note(call: PastCall, failed: readonly string[]): void {
    const { target, tokens_output } = call
    const isAnswered = tokens_output !== null && call.cache !== 'HIT'
    for (const id of new Set(isAnswered ? [...failed, target] : failed)) {
      const known = this.#onRecord.get(id) ?? unknownTarget()
      this.#onRecord.set(id, known)
      const hasAnswered = isAnswered && id === target
      known.fails.note(!hasAnswered)
      this.#allFails.note(!hasAnswered)
      if (!hasAnswered) continue
      known.calls++
      known.output += tokens_output
      known.waits += call.ttft_ms ?? 0
      known.writes ||= call.tokens_cache_write !== null
    }
  }

  result() {
    const outputs = [...this.#moved.values()].map((moved) => ({ ...moved, ...this.#ratio(moved) }))
    const range = (end: 'low' | 'high') =>
      outputs.reduce((sum, each) => sum + each.usd * (each[end] - 1), this.#after.cost_usd)
    return {
      calls: this.#calls,
      recorded: { ...this.#before },
      repriced: { ...this.#after, low_usd: range('low'), high_usd: range('high') },
      targets: [...this.#sums.values()].toSorted((a, b) => b.calls - a.calls),
      outputs: outputs.map(({ usd: _, ...each }) => each),
      left_out: Object.entries(this.#left).map(([reason, calls]) => ({
        reason,
        calls,
        text: LEFT_OUT[reason as LeftOut],
      })),
      assumed: this.#assumed(),
      statement: `cost proved on ${this.#calls} ${this.#calls === 1 ? 'call' : 'calls'}; quality not measured`,
    }
  }

  /** Returns the output of one model per call, relative to another's, as a range that includes 1. */
  #ratio({ from, to }: Moved): { low: number; high: number; is_known: boolean } {
    const [a, b] = [from, to].map((id) => this.#onRecord.get(id))
    if (!a?.output || !b?.output || Math.min(a.calls, b.calls) < MIN_KNOWN)
      return { ...UNKNOWN_RATIO, is_known: false }
    const ratio = b.output / b.calls / (a.output / a.calls)
    return { low: Math.min(1, ratio), high: Math.max(1, ratio), is_known: true }
  }

  /** Returns sentences about what the record does not say. */
  #assumed(): string[] {
    const { config, route } = this.#deps
    const { strategy, rules = [], sticky, targets = [] } = config.routes[route] ?? {}
    const shares = [...this.#drawn.keys()].map((id) => `${id} ${(100 * this.#failureShare(id)).toFixed(1)} %`)
    const isLimited = targets.some(({ model }) => config.models[model]?.capabilities !== undefined)
    return [
      'Each call has the tokens that it has on record. Other models count the same text differently.',
      'A prompt begins with the one before it in its session, unless it is shorter or its provider found less in the cache. A model without facts about its cache caches from 1,024 tokens on.',
      ...(shares.length > 0
        ? [`Targets fail as often as on record (${shares.join(', ')}); failed attempts cost nothing.`]
        : []),
      ...(rules.length > 0 || isLimited
        ? [
            'No call has tools, images or an effort, because they are not on record: rules and limits by them are not applied.',
          ]
        : []),
      ...(strategy === 'weighted' || strategy === 'random'
        ? ['The targets are drawn once, always in the same way.']
        : []),
      ...(strategy === 'fastest' || strategy === 'least-busy'
        ? ['One call ends before the next begins; a target takes as long as it does on average on record.']
        : []),
      ...(sticky === 'prefix' ? ['Calls without a session do not stay with a target.'] : []),
    ]
  }
}

/** Reprices all calls that `read` returns, `limit` at a time. */
export async function repriceAll(
  repricing: WhatIf,
  read: (after: string) => readonly PastCall[] | Promise<readonly PastCall[]>,
  limit: number,
  isOver: () => boolean,
): Promise<void> {
  for (let after = ''; !isOver(); ) {
    const calls = await read(after)
    for (const call of calls) repricing.add(call)
    if (calls.length < limit) return
    after = calls.at(-1)!.id
  }
}

const unknownTarget = (): OnRecord => ({
  ...{ fails: new Drawn(), calls: 0, output: 0, waits: 0, writes: false },
})

const noCalls = (target: string): TargetSum => ({
  ...{ target, calls: 0, cost_usd: 0, input_tokens: 0, output_tokens: 0 },
  ...{ cached_input_tokens: 0, cache_write_tokens: 0 },
})

function addTo(
  sum: { cost_usd: number; cost_is_minimum: boolean; flat_usd: number },
  usd: number,
  flatUsd: number,
  isMinimum: boolean,
): void {
  sum.cost_usd += usd
  sum.flat_usd += flatUsd
  sum.cost_is_minimum ||= isMinimum
}

const KINDS = [
  ...(['input_audio', 'output_audio', 'input_image', 'output_image'] as const),
  ...(['input_video', 'output_video'] as const),
]

/** Returns the tokens of a call at another target. Tier, speed and region are those of an ordinary call. */
function tokensOf(
  { tokens_input, tokens_output }: PastCall,
  { tools, ...usage }: RecordUsage,
  { cached_input, cache_write, cache_write_1h }: ReturnType<SimulatedCaches['serve']>,
  writes: boolean,
): Tokens {
  const kinds = Object.fromEntries(
    KINDS.flatMap((kind) => (usage[kind] === undefined ? [] : [[kind, usage[kind]]])),
  )
  const hasKinds = Object.keys(kinds).length > 0
  return {
    source: 'estimated',
    ...{ input: tokens_input, output: tokens_output, reasoning: null, cached_input },
    cache_write: writes ? cache_write : null,
    ...(writes && { cache_write_1h }),
    ...((tools || hasKinds) && { served: { ...(tools && { tools }), ...(hasKinds && { kinds }) } }),
  }
}
