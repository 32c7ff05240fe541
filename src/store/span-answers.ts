// Builds answers about sessions and about a span of time from sums, in the same way for every engine. Pure; knows no
// SQL.
import { clientName, timeOfId } from '../core/call.ts'
import { offsetOf, startOfDay } from '../core/zone.ts'
import { isOtherModel } from '../shared/model-names.ts'
import type {
  Division,
  History,
  RoutingShares,
  Session,
  SessionModel,
  SessionPart,
  Share,
  Span,
  TargetUsage,
  UsageKey,
  UsageSums,
} from './reads.ts'
import {
  abortedCalls,
  cacheLostIn,
  calls,
  costsOf,
  failedCalls,
  fellBack,
  merge,
  type Sum,
  savedOf,
  tokensInSum,
  total,
} from './sql/usage-sum.ts'

/** A session and the id of its first call. */
export interface Begun {
  readonly session_id: string
  readonly first_id: string
}

export interface LastCall {
  readonly id: string
  readonly requested_model: string
  readonly resolved_provider: string
  readonly resolved_model: string
  readonly client: string | null
}

export interface ModelOf {
  readonly provider: string
  readonly model: string
  /** The model that the answer names; absent if the engine does not know it for each call. */
  readonly response_model?: string | null
}

export type AgentOf = Pick<SessionPart, 'agent_id' | 'purpose'>

export const sessionAnswer = (session_id: string, first_id: string, last: LastCall, sum: Sum): Session => ({
  session_id,
  first_seen: seen(first_id),
  last_seen: seen(last.id),
  ...countsOf(sum),
  last_requested_model: last.requested_model,
  last_provider: last.resolved_provider,
  last_model: last.resolved_model,
  last_client: last.client === null ? null : clientName(last.client),
  ...amountsOf(sum),
})

export const byModel = (parts: readonly (ModelOf & { readonly sum: Sum })[]): SessionModel[] =>
  [...Map.groupBy(parts, (part) => JSON.stringify([part.provider, part.model, otherOf(part)])).values()]
    .map((same) => {
      const { provider, model } = same[0]!
      const sum = total(same)
      return { provider, model, answered: otherOf(same[0]!), ...countsOf(sum), ...amountsOf(sum) }
    })
    .sort((a, b) => b.calls - a.calls)

const otherOf = ({ model, response_model: answered }: ModelOf): string | null =>
  isOtherModel(model, answered) ? answered : null

/** Returns the agents of a session in the order of their first call, with the purposes of their calls. */
export const byAgent = (
  parts: readonly (AgentOf & { readonly first_id: string; readonly last_id: string; readonly sum: Sum })[],
): SessionPart[] =>
  [...Map.groupBy(parts, ({ agent_id, purpose }) => JSON.stringify([agent_id, purpose])).values()]
    .map((same) => {
      const { agent_id, purpose } = same[0]!
      const sum = total(same)
      return {
        agent_id,
        purpose,
        first_seen: seen(same.map(({ first_id }) => first_id).sort()[0]!),
        last_seen: seen(
          same
            .map(({ last_id }) => last_id)
            .sort()
            .at(-1)!,
        ),
        ...countsOf(sum),
        ...amountsOf(sum),
      }
    })
    .sort((a, b) => (a.first_seen < b.first_seen ? -1 : 1))

export const newestFirst = (a: Begun, b: Begun): number => (a.first_id < b.first_id ? 1 : -1)
const seen = (callId: string): string => new Date(timeOfId(callId)).toISOString()
const countsOf = (sum: Sum) => ({
  calls: calls(sum),
  failed: failedCalls(sum),
  aborted: abortedCalls(sum),
})
const amountsOf = (sum: Sum) => ({
  tokens: tokensInSum(sum),
  ...costsOf(sum),
})

export type GroupKey = string | number | null

/** Calls with equal values in the grouped columns. */
export interface SpanGroup {
  /** Values of the grouped columns, in their order. */
  readonly keys: readonly GroupKey[]
  readonly sum: Sum
}

/** Grouping keys: labels of a series, or `@start`, the start of the bucket of time, ms. */
export type GroupBy =
  | '@start'
  | 'resolved_provider'
  | 'resolved_model'
  | 'route'
  | 'strategy'
  | 'tier'
  | 'key_name'
  | 'session_id'
  | 'client'
  | 'response_model'

/** Labels that the hourly sums do not have, so that a grouping by them reads the rows. */
const UNSUMMED: readonly GroupBy[] = ['session_id', 'client', 'response_model']
export const needsRows = (by: readonly GroupBy[]): boolean => by.some((name) => UNSUMMED.includes(name))

/** Columns by grouping of usage. */
const COLUMNS_OF = {
  provider: ['resolved_provider'],
  model: ['resolved_model'],
  route: ['route'],
  tier: ['tier'],
  key: ['key_name'],
  session: ['session_id'],
  client: ['client'],
  answered: ['resolved_model', 'response_model'],
} as const satisfies Record<UsageKey, readonly GroupBy[]>

/** Returns the columns to group a history by. */
export const historyKeys = (by: UsageKey | undefined): readonly GroupBy[] =>
  by ? ['@start', ...COLUMNS_OF[by]] : ['@start']

/** Collects groups; a new group starts with an empty sum. */
export function groupSums(): { sumOf(keys: readonly GroupKey[]): Sum; all(): SpanGroup[] } {
  const groups = new Map<string, SpanGroup>()
  return {
    sumOf(keys) {
      const name = JSON.stringify(keys)
      let group = groups.get(name)
      if (!group) {
        group = { keys, sum: total([]) }
        groups.set(name, group)
      }
      return group.sum
    },
    all: () => [...groups.values()],
  }
}

/** Collects latencies by provider. */
export function groupLatencies() {
  const found = new Map<string, Latencies>()
  return {
    found,
    count(provider: string, step: number, calls: number): void {
      const steps = found.get(provider) ?? new Map<number, number>()
      found.set(provider, steps.set(step, (steps.get(step) ?? 0) + calls))
    },
  }
}

/** Returns the length of the groups that a division needs, and the start of the bucket of a group. */
export function bucketsOf(division: Division, { since, until }: Span): Buckets {
  if (division === 'whole') return { stepMs: HOUR, startOf: () => since }
  if ('ms' in division) return { stepMs: division.ms, startOf: (at) => at }
  const { dayIn } = division
  const isWholeHours = [since, until].every((at) => offsetOf(dayIn, at) % HOUR === 0)
  return { stepMs: isWholeHours ? HOUR : HOUR / 4, startOf: (at) => startOfDay(dayIn, at) }
}
const HOUR = 3_600_000

interface Buckets {
  readonly stepMs: number
  readonly startOf: (at: number) => number
}

/**
 * Joins the groups of `historyKeys` into buckets. The versions of a client are one group, and so are the forms of a model's
 * name that mean the same model.
 */
export function historyOf(
  groups: readonly SpanGroup[],
  by: UsageKey | undefined,
  { startOf }: Buckets,
): History {
  const { sumOf, all } = groupSums()
  for (const { keys, sum } of groups) {
    const at = startOf(keys[0] as number)
    merge(sumOf(by ? [at, nameOf(by, keys.slice(1))] : [at]), sum)
  }
  const start = ({ keys }: SpanGroup) => keys[0] as number
  return {
    totals: usageOf(total(groups)),
    buckets: all()
      .sort((a, b) => start(a) - start(b) || calls(b.sum) - calls(a.sum))
      .map((group) => ({
        start: new Date(start(group)).toISOString(),
        ...(by && { by: group.keys[1] as string | null }),
        ...usageOf(group.sum),
      })),
  }
}

function nameOf(by: UsageKey, [value = null, answered = null]: readonly GroupKey[]): GroupKey {
  if (by === 'client' && value !== null) return clientName(String(value))
  if (by === 'answered' && isOtherModel(String(value), answered as string | null)) return answered
  return value
}

/** Groups by route, provider and model. */
export const targetsOf = (groups: readonly SpanGroup[]): TargetUsage[] =>
  groups
    .toSorted((a, b) => calls(b.sum) - calls(a.sum))
    .map(({ keys: [route, provider, model], sum }) => ({
      route: route as string | null,
      provider: String(provider),
      model: String(model),
      ...usageOf(sum),
    }))
export const TARGET_KEYS = ['route', 'resolved_provider', 'resolved_model'] as const

/** Groups by strategy, tier and provider; latencies by provider. */
export function sharesOf(
  groups: readonly SpanGroup[],
  latencies: ReadonlyMap<string, Latencies>,
): RoutingShares {
  const sum = total(groups)
  const all = calls(sum)
  const share = (count: number): Share => ({ calls: count, share: all === 0 ? null : count / all })
  /** Shares by one of the keys, largest first. */
  const shares = (index: 0 | 1 | 2): [string, Share][] =>
    [...Map.groupBy(groups, ({ keys }) => String(keys[index] ?? 'none'))]
      .map(([name, same]): [string, Share] => [name, share(calls(total(same)))])
      .sort(([, a], [, b]) => b.calls - a.calls)
  return {
    total_calls: all,
    strategy_distribution: Object.fromEntries(shares(0)),
    tier_distribution: Object.fromEntries(shares(1)),
    top_providers: shares(2).map(([provider, share]) => ({
      provider,
      ...share,
      p50_latency_ms: medianOf(latencies.get(provider) ?? new Map()),
    })),
    fallback: share(fellBack(sum)),
  }
}

const usageOf = (sum: Sum): UsageSums => {
  const { input, output, cached_input } = tokensInSum(sum)
  return {
    calls: calls(sum),
    failed: failedCalls(sum),
    aborted: abortedCalls(sum),
    fell_back: fellBack(sum),
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: cached_input,
    ...cacheLostIn(sum),
    ...costsOf(sum),
    saved_usd: savedOf(sum),
  }
}

/**
 * Upper bounds of the steps: 16 ms, 22.6 ms, and so on to above 9 minutes. Each is √2 times the previous one.
 */
const STEPS = 32
const FIRST_MS = 16

/** Number of completed calls in each step, by the step's number. */
export type Latencies = Map<number, number>

/** Returns the step of a call; null if the call was not completed, or its latency is not known. */
export function stepOf({ state, latency_ms }: { state: string; latency_ms: number | null }): number | null {
  if (state !== 'completed' || latency_ms === null) return null
  const step = Math.ceil(2 * Math.log2(latency_ms / FIRST_MS))
  return Math.min(Math.max(step, 0), STEPS - 1)
}

const boundOf = (step: number): number => (step < 0 ? 0 : FIRST_MS * 2 ** (step / 2))

/**
 * Returns the median, ms, or null. Assumes that calls are spread evenly within a step, so the result is
 * within a fifth of the true median.
 */
function medianOf(latencies: Latencies): number | null {
  const steps = [...latencies].sort(([a], [b]) => a - b)
  const half = steps.reduce((sum, [, calls]) => sum + calls, 0) / 2
  let before = 0
  for (const [step, calls] of steps) {
    if (calls > 0 && before + calls >= half) {
      const [from, to] = [boundOf(step - 1), boundOf(step)]
      return Math.round((from + ((half - before) / calls) * (to - from)) * 10) / 10
    }
    before += calls
  }
  return null
}
