// One entry per segment: its text from the known facts, null to show nothing. Pure; no width, no colours.

import { plain } from '../terminal/clean.ts'
import { count, dollars, duration } from '../terminal/numbers.ts'
import type { Facts } from './facts.ts'
import type { SegmentName } from './segment-names.ts'
import type { Tone } from './themes.ts'

/** Everything that a line may show. */
export interface View {
  /** The client's name of its model; null if it sent none. */
  readonly label: string | null
  /** Null if nothing is known about the route. */
  readonly facts: Facts | null
  /** Age of the facts, as `ago` formats it, if the gateway did not answer this time; else null. */
  readonly age: string | null
  /** Why there are no newer facts, in a few words. */
  readonly note: string | null
  /** Per cent. */
  readonly contextUsed: number | null
  /** Directory and branch. */
  readonly place: string | null
}

export interface Span {
  readonly text: string
  readonly tone: Tone
}

const quiet = (text: string): Span[] => [{ text, tone: 'quiet' }]

/** Marks figures that the gateway estimated, because the provider did not report them. */
const estimate = (facts: Facts | null): string => (facts?.tokens.source === 'estimated' ? '~' : '')

/** Returns true if the call ended without an answer; one that the user aborted did not fail. */
const failed = ({ state }: Facts): boolean => state === 'failed' || state === 'interrupted'

/** `provider/model`, marked `~` as a forecast and `⚠` as the last target of a failed call (LINE-03). */
export const target = (facts: Facts): string =>
  `${failed(facts) ? '⚠ ' : ''}${facts.kind === 'forecast' ? '~' : ''}${plain(facts.resolved_provider)}/${plain(facts.resolved_model)}`

/** Returns the requested model if it says more than the target does. */
export function asked({ requested_model, resolved_provider, resolved_model }: Facts): Span[] {
  if (requested_model === `${resolved_provider}/${resolved_model}`) return []
  return [
    { text: plain(requested_model), tone: 'label' },
    { text: ' → ', tone: 'quiet' },
  ]
}

export const SEGMENTS = {
  route: ({ facts }) =>
    facts && [...asked(facts), { text: target(facts), tone: failed(facts) ? 'warning' : 'target' }],
  fallback: ({ facts }) =>
    facts && (failed(facts) || (facts.fallbacks ?? 0) > 0)
      ? [
          {
            text: failed(facts)
              ? plain(facts.error_code ?? facts.state!)
              : `↷ ${plain(facts.picked_provider ?? 'first choice')} failed`,
            tone: 'warning',
          },
        ]
      : null,
  strategy: ({ facts }) => (facts?.strategy ? quiet(plain(facts.strategy)) : null),
  latency: ({ facts }) =>
    typeof facts?.latency_ms === 'number' ? [{ text: duration(facts.latency_ms), tone: 'plain' }] : null,
  ttft: ({ facts }) =>
    typeof facts?.ttft_ms === 'number' ? quiet(`first ${duration(facts.ttft_ms)}`) : null,
  tokens: ({ facts }) => {
    const { input = null, output = null } = facts?.tokens ?? {}
    const about = estimate(facts)
    const parts = [
      input !== null && `↑${about}${count(input)}`,
      output !== null && `↓${about}${count(output)}`,
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
  context: ({ contextUsed }) => (contextUsed === null ? null : quiet(`context ${Math.round(contextUsed)} %`)),
  place: ({ place }) => (place ? quiet(plain(place)) : null),
} satisfies Record<SegmentName, (view: View) => Span[] | null>
