// Renders the line, for the program and for the gateway's endpoint alike. Pure: width, colours and facts are
// parameters; no clock, no environment.
import { cut, type Measure, plain } from '../terminal/clean.ts'
import type { SegmentName } from './segment-names.ts'
import { asked, SEGMENTS, type Span, target, type View } from './segments.ts'
import { THEMES, type Theme, type ThemeName } from './themes.ts'

export interface Look {
  readonly segments: readonly SegmentName[]
  /** Terminal cells; null if unknown: nothing is left out. */
  readonly columns: number | null
  /** Null prints no escape sequence at all (NO_COLOR). */
  readonly theme: ThemeName | null
  /** Address of the target's record, as an OSC 8 link; null for none. */
  readonly link: string | null
  readonly cells: Measure
}

type Part = SegmentName | 'label' | 'note' | 'age'

/** Segments to drop from a long line, first to last, except `route`, which is cut last (LINE-06). */
const DROPPED_FIRST: readonly Part[] = [
  'place',
  'context',
  'tokens',
  'ttft',
  'cache',
  'session',
  'cost',
  'latency',
  'strategy',
  'note',
  'fallback',
  'age',
]

const SEPARATOR: Span = { text: ' · ', tone: 'quiet' }

/** Returns one non-empty line of at most `columns` cells, without line feed; dimmed if old (LINE-05). */
export function renderLine(view: View, { segments, columns, theme, link, cells }: Look): string {
  const limit = columns ?? Number.POSITIVE_INFINITY
  const parts = partsOf(view, segments)
  const width = () => join(parts).reduce((sum, { text }) => sum + cells(text), 0)
  for (const part of DROPPED_FIRST) {
    if (width() <= limit) break
    if (parts.size > 1) parts.delete(part)
  }
  // Then the requested model goes, so that the target stays.
  if (width() > limit && view.facts && parts.has('route'))
    parts.set('route', parts.get('route')!.slice(asked(view.facts).length))
  const spans = shorten(join(parts), limit, cells)
  const shown = view.age === null ? spans : spans.map(({ text }) => ({ text, tone: 'quiet' as const }))
  return shown.map((span) => paint(span, theme && THEMES[theme], linkOf(span, view, link))).join('')
}

function partsOf(view: View, segments: readonly SegmentName[]): Map<Part, Span[]> {
  const parts = new Map<Part, Span[]>()
  for (const name of segments) {
    const spans = SEGMENTS[name](view)
    if (spans) parts.set(name, spans)
  }
  if (view.facts && view.age !== null) parts.set('age', [{ text: view.age, tone: 'quiet' }])
  if (view.facts === null || parts.size === 0) {
    const label = plain(view.label ?? '').trim() || 'waybill'
    const own = new Map<Part, Span[]>([['label', [{ text: label, tone: 'label' }]]])
    if (view.note !== null) own.set('note', [{ text: view.note, tone: 'quiet' }])
    return new Map([...own, ...parts])
  }
  return parts
}

const join = (parts: ReadonlyMap<Part, Span[]>): Span[] =>
  [...parts.values()].flatMap((spans, index) => (index === 0 ? spans : [SEPARATOR, ...spans]))

function shorten(spans: readonly Span[], limit: number, cells: Measure): Span[] {
  const kept: Span[] = []
  let left = limit
  for (const { text, tone } of spans) {
    if (left <= 0) break
    kept.push({ text: cut(text, left, cells), tone })
    left -= cells(text)
  }
  return kept
}

const linkOf = ({ text }: Span, { facts }: View, link: string | null): string | null =>
  facts?.id && text === target(facts) ? link : null

function paint({ text, tone }: Span, theme: Theme | null, link: string | null): string {
  const code = theme?.[tone]
  const painted = code ? `\u001b[${code}m${text}\u001b[0m` : text
  return link && theme ? `\u001b]8;;${link}\u0007${painted}\u001b]8;;\u0007` : painted
}
