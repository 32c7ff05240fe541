// Formats a call as one line of a table, as wide as the terminal. Pure: width and colours are parameters.
// Control characters are first removed from names that clients and providers chose (TELL-06).

import type { styleText } from 'node:util'
import { z } from 'zod'
import { clientName } from '../core/call.ts'
import { isOtherModel } from '../shared/model-names.ts'
import { cleanLabel, cut } from '../terminal/clean.ts'
import { costText, duration, formatCount } from '../terminal/numbers.ts'
import { cells } from '../terminal/width.ts'

/** Fields of a record that the table needs. */
export const shownCall = z.looseObject({
  id: z.string(),
  created_at: z.string(),
  completed_at: z.string().nullable(),
  state: z.string(),
  requested_model: z.string(),
  method: z.string().nullish(), // field is absent in older gateways
  endpoint: z.string().nullish(),
  resolved_provider: z.string(),
  resolved_model: z.string(),
  response_model: z.string().nullish(),
  strategy: z.string().nullable(),
  session_id: z.string().nullable(),
  purpose: z.string().nullish(), // field is absent in older gateways
  status: z.number().nullable(),
  error_code: z.string().nullable(),
  fallbacks: z.number(),
  latency_ms: z.number().nullable(),
  tokens: z.looseObject({
    input: z.number().nullable(),
    output: z.number().nullable(),
    source: z.string().nullish(),
  }),
  reported_usd: z.number().nullish(),
  cost_usd: z.number().nullable(),
  cost_missing: z.array(z.string()).nullish(),
  client: z.string().nullish(),
})
export type ShownCall = z.output<typeof shownCall>

/** A call that was refused before it had a record. */
export const refusedCall = z.looseObject({
  id: z.string(),
  created_at: z.string(),
  status: z.number(),
  code: z.string(),
  message: z.string(),
})

/** Returns a refused call as a row among the calls. The target of a refused call is unknown. */
export const shownRefusal = ({
  id,
  created_at,
  status,
  code,
  message,
}: z.output<typeof refusedCall>): ShownCall => ({
  ...{ id, created_at, completed_at: created_at, state: REFUSED, status, error_code: code, message },
  ...{ requested_model: '', resolved_provider: '', resolved_model: '', strategy: null, session_id: null },
  ...{ purpose: null, fallbacks: 0, latency_ms: null, tokens: { input: null, output: null }, cost_usd: null },
})
const REFUSED = 'refused'

type Format = Parameters<typeof styleText>[0]
/** Colours a string, or returns it unchanged. */
type Paint = (format: Format, text: string) => string

interface Column {
  readonly title: string
  /** Terminal cells; 0 for a column that uses the remaining cells. */
  readonly width: number
  readonly right?: boolean
  /** `width`: infinite if nothing is cut. */
  text(call: ShownCall, width: number): string
  colour?(call: ShownCall): Format | null
}

const COLOURS: Record<string, Format> = {
  completed: 'green',
  failed: 'red',
  refused: 'red',
  interrupted: 'red',
  aborted: 'yellow',
  streaming: 'cyan',
  routed: 'cyan',
}

const COLUMNS = {
  time: {
    title: 'time',
    width: 8,
    text: ({ created_at }) => clock(new Date(created_at)),
    colour: () => 'dim',
  },
  state: {
    title: 'state',
    width: 11,
    text: ({ state, status }) => (isBad(state) && status ? `${state} ${status}` : state),
    colour: ({ state }) => COLOURS[state] ?? null,
  },
  call: { title: 'asked → went', width: 0, text: route },
  strategy: { title: 'strategy', width: 11, text: ({ strategy }) => strategy ?? '-', colour: () => 'dim' },
  purpose: {
    title: 'purpose',
    width: 10,
    text: ({ purpose }) => purpose ?? '-',
    colour: ({ purpose }) => (purpose === 'main' ? null : 'dim'),
  },
  latency: {
    title: 'latency',
    width: 7,
    right: true,
    text: ({ latency_ms }) => (latency_ms === null ? '-' : duration(latency_ms)),
  },
  tokens: {
    title: 'tokens',
    width: 11,
    right: true,
    text: ({ tokens: { input, output } }) =>
      input === null && output === null ? '-' : `${known(input, formatCount)}→${known(output, formatCount)}`,
  },
  cost: {
    title: 'cost',
    width: 11,
    right: true,
    text: (call) => costText(call),
  },
  client: {
    title: 'client',
    width: 12,
    text: ({ client }) => (client ? clientName(client) : '-'),
    colour: () => 'dim',
  },
  session: { title: 'session', width: 8, text: ({ session_id }) => session_id ?? '-', colour: () => 'dim' },
} satisfies Record<string, Column>
type Name = keyof typeof COLUMNS

/** Columns to drop in a narrow terminal, in this order. */
const DROPPED_FIRST: readonly Name[] = [
  'session',
  'strategy',
  'client',
  'purpose',
  'tokens',
  'cost',
  'latency',
  'time',
  'state',
]
/** Minimum width of a readable route. */
const MIN_ROUTE_WIDTH = 30
/** Maximum width of a route. The session uses the remaining cells. */
const MAX_ROUTE_WIDTH = 64
/** Width if the terminal's width is unknown. This width has room for most names, and nothing is cut. */
const DEFAULT_ROUTE_WIDTH = 44
const GAP = '  '

interface CallTable {
  header(): string
  row(call: ShownCall): string
}

/** Formats the table. `columns`: width of the terminal in cells; null without a terminal. */
export function createCallTable(columns: number | null, paint: Paint): CallTable {
  const shown = new Map<Name, Column>(Object.entries(COLUMNS) as [Name, Column][])
  const left = () =>
    [...shown.values()].reduce((rest, { width }) => rest - width, columns ?? 0) -
    GAP.length * (shown.size - 1)
  for (const name of DROPPED_FIRST) if (columns !== null && left() < MIN_ROUTE_WIDTH) shown.delete(name)
  const room = columns === null ? DEFAULT_ROUTE_WIDTH : Math.min(MAX_ROUTE_WIDTH, Math.max(1, left()))
  const wide = Math.max(0, left() - MAX_ROUTE_WIDTH)

  const line = (cell: (column: Column, width: number) => [string, Format | null]) =>
    [...shown.values()]
      .map((column) => {
        const width = column === COLUMNS.session ? column.width + wide : column.width || room
        const [said, colour] = cell(column, width)
        const text = columns === null ? cleanLabel(said) : cut(cleanLabel(said), width, cells)
        const space = ' '.repeat(Math.max(0, width - cells(text)))
        const painted = colour ? paint(colour, text) : text
        return column.right ? space + painted : painted + space
      })
      .join(GAP)
      .trimEnd()
  return {
    header: () => line(({ title }) => [title, 'bold']),
    row: (call) =>
      line((column, width) => [
        column.text(call, columns === null ? Number.POSITIVE_INFINITY : width),
        column.colour?.(call) ?? null,
      ]),
  }
}

const isBad = (state: string): boolean => state === 'failed' || state === REFUSED

/** Minimum cells of a requested model that does not fit beside its target. */
const MIN_ASKED_WIDTH = 8

/** Returns `auto → openai/gpt-5-mini`, and any error. If they do not fit, the requested model is shortened first. */
function route(call: ShownCall, width: number): string {
  const { resolved_provider, resolved_model, response_model: answered, fallbacks, state, error_code } = call
  if (state === REFUSED) return `${error_code}: ${call.message}`
  const why = state === 'failed' && error_code !== null ? `: ${error_code}` : ''
  // A passed-through call may name no model; then its endpoint describes it.
  const asked = call.requested_model || `${call.method ?? ''} ${call.endpoint ?? ''}`.trim()
  const target = [resolved_provider, resolved_model].filter(Boolean).join('/')
  const other = isOtherModel(resolved_model, answered) ? ` → ${answered}` : ''
  const went = `${fallbacks > 0 ? '↷ ' : ''}${target}${other}${why}`
  if (asked === target) return went
  const room = width - cells(cleanLabel(` → ${went}`))
  return `${cut(cleanLabel(asked), Math.max(MIN_ASKED_WIDTH, room), cells)} → ${went}`
}

const known = (value: number | null, say: (value: number) => string): string =>
  value === null ? '-' : say(value)

/** Formats the local time of day. */
const clock = (time: Date): string =>
  [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
