// One entry for each segment. Each entry makes the text from the known facts, or null to show nothing. Pure; knows
// no width and no colours.

import { cleanLabel } from '../terminal/clean.ts'
import { dollars, duration, formatCount } from '../terminal/numbers.ts'
import type { Facts } from './facts.ts'
import type { SegmentName } from './segment-names.ts'
import type { Tone } from './themes.ts'

/** Facts that a line may show. */
export interface View {
  /** The client's name of its model; null if it sent none. */
  readonly label: string | null
  /** Null if nothing is known about the route. */
  readonly facts: Facts | null
  /** Age of the facts, as formatted by `ago`, if the gateway did not answer this time; otherwise null. */
  readonly age: string | null
  /** Brief reason why there are no newer facts. */
  readonly note: string | null
  /** Per cent. */
  readonly contextUsed: number | null
  /** Directory and branch. */
  readonly place: string | null
}

export interface StyledText {
  readonly text: string
  readonly tone: Tone
}

const quiet = (text: string): StyledText[] => [{ text, tone: 'quiet' }]

/** Marks figures that the gateway estimated because the provider did not report them. */
const estimate = (facts: Facts | null): string => (facts?.tokens.source === 'estimated' ? '~' : '')

/** Returns true if the call ended without an answer. A call aborted by the user did not fail. */
const failed = ({ state }: Facts): boolean => state === 'failed' || state === 'interrupted'

/** `provider/model`, marked `~` as a forecast and `⚠` as the last target of a failed call (LINE-03). */
export const target = (facts: Facts): string =>
  `${failed(facts) ? '⚠ ' : ''}${facts.kind === 'forecast' ? '~' : ''}${cleanLabel(facts.resolved_provider)}/${cleanLabel(facts.resolved_model)}`

/** Returns the requested model if it adds information to the target. */
export function requestedSegment({
  requested_model,
  resolved_provider,
  resolved_model,
}: Facts): StyledText[] {
  if (requested_model === `${resolved_provider}/${resolved_model}`) return []
  return [
    { text: cleanLabel(requested_model), tone: 'label' },
    { text: ' → ', tone: 'quiet' },
  ]
}

export const SEGMENTS = {
  route: ({ facts }) =>
    facts && [
      ...requestedSegment(facts),
      { text: target(facts), tone: failed(facts) ? 'warning' : 'target' },
    ],
  fallback: ({ facts }) =>
    facts && (failed(facts) || (facts.fallbacks ?? 0) > 0)
      ? [
          {
            text: failed(facts)
              ? cleanLabel(facts.error_code ?? facts.state!)
              : `↷ ${cleanLabel(facts.picked_provider ?? 'first choice')} failed`,
            tone: 'warning',
          },
        ]
      : null,
  strategy: ({ facts }) => (facts?.strategy ? quiet(cleanLabel(facts.strategy)) : null),
  latency: ({ facts }) =>
    typeof facts?.latency_ms === 'number' ? [{ text: duration(facts.latency_ms), tone: 'plain' }] : null,
  ttft: ({ facts }) =>
    typeof facts?.ttft_ms === 'number' ? quiet(`first ${duration(facts.ttft_ms)}`) : null,
  tokens: ({ facts }) => {
    const { input = null, output = null } = facts?.tokens ?? {}
    const about = estimate(facts)
    const parts = [
      input !== null && `↑${about}${formatCount(input)}`,
      output !== null && `↓${about}${formatCount(output)}`,
    ]
    const text = parts.filter((part) => part !== false).join(' ')
    return text ? quiet(text) : null
  },
  cost: ({ facts }) =>
    typeof facts?.cost_usd === 'number'
      ? [{ text: `${estimate(facts)}${dollars(facts.cost_usd, facts.cost_is_minimum)}`, tone: 'money' }]
      : null,
  session: ({ facts }) =>
    typeof facts?.session_cost_usd === 'number'
      ? [
          ...quiet('session '),
          { text: dollars(facts.session_cost_usd, facts.session_cost_is_minimum), tone: 'money' },
        ]
      : null,
  cache: ({ facts }) => {
    if (facts?.cache !== 'HIT') return null
    return quiet(facts.saved_usd === null ? 'cache hit' : `cache hit, saved ${dollars(facts.saved_usd)}`)
  },
  // The record contains the reset time.
  limits: ({ facts }) =>
    facts?.plan_limits
      ? quiet(`plan ${cleanLabel(facts.plan_limits.replace(/ \(until [^)]*\)/g, ''))}`)
      : null,
  context: ({ contextUsed }) => (contextUsed === null ? null : quiet(`context ${Math.round(contextUsed)} %`)),
  place: ({ place }) => (place ? quiet(cleanLabel(place)) : null),
} satisfies Record<SegmentName, (view: View) => StyledText[] | null>
