// Renders the line, both for the program and for the gateway's endpoint. Pure: width, colours and facts are
// parameters; uses no clock and no environment. Each segment makes its text from the known facts, or null to show
// nothing; it knows no width and no colours.
import { cleanLabel, cut, type Measure } from '../terminal/clean.ts'
import { costText, dollars, duration, formatCount } from '../terminal/numbers.ts'
import { type SegmentName, THEMES, type Theme, type ThemeName, type Tone } from './flags.ts'
import type { Facts } from './lookup.ts'

export interface LineStyle {
  readonly segments: readonly SegmentName[]
  /** Width in terminal cells; null if unknown, and then nothing is left out. */
  readonly columns: number | null
  /** Theme; null to print no escape sequences (NO_COLOR). */
  readonly theme: ThemeName | null
  /** Address of the target's record, shown as an OSC 8 link; null for no link. */
  readonly link: string | null
  readonly cells: Measure
}

type Part = SegmentName | 'label' | 'note' | 'age'

/** Segments to drop from a long line, in order. `route` is not dropped, but shortened last (LINE-06). */
const DROPPED_FIRST: readonly Part[] = [
  'place',
  'context',
  'tokens',
  'ttft',
  'cache',
  'limits',
  'session',
  'cost',
  'latency',
  'strategy',
  'note',
  'fallback',
  'age',
]

const SEPARATOR: StyledText = { text: ' · ', tone: 'quiet' }

/**
 * Returns one non-empty line of at most `columns` cells, without a line feed. An old line is dimmed
 * (LINE-05).
 */
export function renderLine(view: View, { segments, columns, theme, link, cells }: LineStyle): string {
  const limit = columns ?? Number.POSITIVE_INFINITY
  const parts = partsOf(view, segments)
  const width = () => join(parts).reduce((sum, { text }) => sum + cells(text), 0)
  for (const part of DROPPED_FIRST) {
    if (width() <= limit) break
    if (parts.size > 1) parts.delete(part)
  }
  // Next, the requested model is dropped, so that the target stays.
  if (width() > limit && view.facts && parts.has('route'))
    parts.set('route', parts.get('route')!.slice(requestedSegment(view.facts).length))
  const spans = shorten(join(parts), limit, cells)
  const shown = view.age === null ? spans : spans.map(({ text }) => ({ text, tone: 'quiet' as const }))
  return shown.map((span) => paint(span, theme && THEMES[theme], linkOf(span, view, link))).join('')
}

function partsOf(view: View, segments: readonly SegmentName[]): Map<Part, StyledText[]> {
  const parts = new Map<Part, StyledText[]>()
  for (const name of segments) {
    const spans = SEGMENTS[name](view)
    if (spans) parts.set(name, spans)
  }
  if (view.facts && view.age !== null) parts.set('age', [{ text: view.age, tone: 'quiet' }])
  if (view.facts === null || parts.size === 0) {
    const label = cleanLabel(view.label ?? '').trim() || 'waybill'
    const own = new Map<Part, StyledText[]>([['label', [{ text: label, tone: 'label' }]]])
    if (view.note !== null) own.set('note', [{ text: view.note, tone: 'quiet' }])
    return new Map([...own, ...parts])
  }
  return parts
}

const join = (parts: ReadonlyMap<Part, StyledText[]>): StyledText[] =>
  [...parts.values()].flatMap((spans, index) => (index === 0 ? spans : [SEPARATOR, ...spans]))

function shorten(spans: readonly StyledText[], limit: number, cells: Measure): StyledText[] {
  const kept: StyledText[] = []
  let left = limit
  for (const { text, tone } of spans) {
    if (left <= 0) break
    kept.push({ text: cut(text, left, cells), tone })
    left -= cells(text)
  }
  return kept
}

const linkOf = ({ text }: StyledText, { facts }: View, link: string | null): string | null =>
  facts?.id && text === target(facts) ? link : null

function paint({ text, tone }: StyledText, theme: Theme | null, link: string | null): string {
  const code = theme?.[tone]
  const painted = code ? `\u001b[${code}m${text}\u001b[0m` : text
  return link && theme ? `\u001b]8;;${link}\u0007${painted}\u001b]8;;\u0007` : painted
}

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

interface StyledText {
  readonly text: string
  readonly tone: Tone
}

const quiet = (text: string): StyledText[] => [{ text, tone: 'quiet' }]

/** Marks figures that the gateway estimated because the provider did not report them. */
const estimate = (facts: Facts | null): string => (facts?.tokens.source === 'estimated' ? '~' : '')

/** Returns true if the call ended without an answer. A call aborted by the user did not fail. */
const failed = ({ state }: Facts): boolean => state === 'failed' || state === 'interrupted'

/**
 * `provider/model`, marked `~` as a forecast and `⚠` as the last target of a failed call, and the model that answered if it
 * is another one (LINE-03).
 */
export const target = (facts: Facts): string =>
  `${failed(facts) ? '⚠ ' : ''}${facts.kind === 'forecast' ? '~' : ''}${cleanLabel(facts.resolved_provider)}/${cleanLabel(facts.resolved_model)}${facts.answered === null ? '' : ` → ${cleanLabel(facts.answered)}`}`

/** Returns the requested model if it adds information to the target. */
function requestedSegment({ requested_model, resolved_provider, resolved_model }: Facts): StyledText[] {
  if (requested_model === `${resolved_provider}/${resolved_model}`) return []
  return [
    { text: cleanLabel(requested_model), tone: 'label' },
    { text: ' → ', tone: 'quiet' },
  ]
}

const SEGMENTS = {
  route: ({ facts }) =>
    facts && [
      ...requestedSegment(facts),
      { text: target(facts), tone: failed(facts) ? 'warning' : 'target' },
    ],
  fallback: ({ facts }) => {
    if (!facts) return null
    const warning = (text: string) => [{ text, tone: 'warning' as const }]
    if (failed(facts)) return warning(cleanLabel(facts.error_code ?? facts.state!))
    if ((facts.fallbacks ?? 0) > 0)
      return warning(`↷ ${cleanLabel(facts.picked_provider ?? 'first choice')} failed`)
    return facts.cooling === null ? null : warning(`↷ ${cleanLabel(facts.cooling.split('/')[0]!)} cooling`)
  },
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
    typeof facts?.cost_usd === 'number' ? [{ text: costText(facts), tone: 'money' }] : null,
  session: ({ facts }) =>
    typeof facts?.session_cost_usd === 'number'
      ? [
          ...quiet('session '),
          {
            text: costText({
              cost_usd: facts.session_cost_usd,
              cost_is_minimum: facts.session_cost_is_minimum,
              cost_is_estimated: facts.session_cost_is_estimated,
            }),
            tone: 'money',
          },
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
