// One entry per segment: what it shows of what is known, null when there is nothing to show. Pure; no width, no
// colour codes.

import { plain } from '../terminal/clean.ts'
import { count, dollars, duration } from '../terminal/numbers.ts'
import type { Facts } from './facts.ts'
import type { Tone } from './themes.ts'

/** All that a line may be made of. */
export interface View {
  /** What the client calls its model; null when it did not say. */
  readonly label: string | null
  /** Null when nothing is known about the route. */
  readonly facts: Facts | null
  /** How old the facts are, as `ago` writes it, where the gateway did not answer this time; else null. */
  readonly age: string | null
  /** Why nothing newer is known, in a few words. */
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

/** Stands for an age that is not known yet, and is as wide as the widest. */
export const AGE_PLACEHOLDER = '{___age___}'

/** Marks figures that the gateway counted itself, because the provider did not report them. */
const estimate = (facts: Facts | null): string => (facts?.tokens.source === 'estimated' ? '~' : '')

/** The call ended without an answer; one that the user broke off did not fail. */
const failed = ({ state }: Facts): boolean => state === 'failed' || state === 'interrupted'

/** `provider/model`, marked `~` as a forecast and `⚠` as the last target of a failed call (LINE-03). */
export const target = (facts: Facts): string =>
  `${failed(facts) ? '⚠ ' : ''}${facts.kind === 'forecast' ? '~' : ''}${plain(facts.resolved_provider)}/${plain(facts.resolved_model)}`

/** What was asked for, where it says more than the target does. */
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
      ? [{ text: `${estimate(facts)}${dollars(facts.cost_usd)}`, tone: 'money' }]
      : null,
  session: ({ facts }) =>
    typeof facts?.session_cost_usd === 'number'
      ? [...quiet('session '), { text: dollars(facts.session_cost_usd), tone: 'money' }]
      : null,
  cache: ({ facts }) => {
    if (facts?.cache !== 'HIT') return null
    return quiet(facts.saved_usd === null ? 'cache hit' : `cache hit, saved ${dollars(facts.saved_usd)}`)
  },
  context: ({ contextUsed }) => (contextUsed === null ? null : quiet(`context ${Math.round(contextUsed)} %`)),
  place: ({ place }) => (place ? quiet(plain(place)) : null),
} satisfies Record<string, (view: View) => Span[] | null>

export type SegmentName = keyof typeof SEGMENTS
export const SEGMENT_NAMES = Object.keys(SEGMENTS) as SegmentName[]
export const DEFAULT_SEGMENTS: readonly SegmentName[] = ['route', 'fallback', 'strategy', 'latency', 'cost']

export const isSegmentName = (name: string): name is SegmentName => Object.hasOwn(SEGMENTS, name)
