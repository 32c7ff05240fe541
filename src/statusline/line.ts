// Renders the line, both for the program and for the gateway's endpoint. Pure: width, colours and facts are
// parameters; uses no clock and no environment.
import { cleanLabel, cut, type Measure } from '../terminal/clean.ts'
import type { SegmentName } from './segment-names.ts'
import { requestedSegment, SEGMENTS, type StyledText, target, type View } from './segments.ts'
import { THEMES, type Theme, type ThemeName } from './themes.ts'

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
