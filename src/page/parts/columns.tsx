// Columns for a table of calls. Each field of the record has one, derived from its definition, with a format
// for each kind of value. A new field in `src/core/record.ts` automatically becomes a column.
import type { ComponentChild } from 'preact'
import { CALL_FIELDS, type CallRecord, type Field, type Kind } from '../../core/record.ts'
import { TOKEN_PARTS } from '../../core/served.ts'
import { isOtherModel } from '../../shared/model-names.ts'
import * as format from '../format.ts'
import { sessionHref } from '../place.ts'

export interface PageColumn {
  /** Name as in the URL: the field, or the field and a member after a dot. */
  readonly name: string
  readonly title: string
  readonly about: string
  readonly isNumber: boolean
  /** The filter that a click on a value sets; null if there is none. */
  filterOf(record: CallRecord): readonly [parameter: string, value: string] | null
  show(record: CallRecord): ComponentChild
}

const NUMBERS: readonly Kind[] = ['count', 'ms', 'usd', 'tokens']

/** Short titles for crowded tables. */
const TITLES: Readonly<Record<string, string>> = {
  created_at: 'time',
  completed_at: 'ended',
  requested_model: 'asked for',
  resolved_provider: 'provider',
  resolved_model: 'model',
  cost_usd: 'cost',
  cost_missing: 'not in the cost',
  saved_usd: 'saved',
  latency_ms: 'took',
  ttft_ms: 'first event',
  session_id: 'session',
  agent_id: 'agent',
  key_name: 'key',
  error_code: 'error',
  'tokens.input': 'in',
  'tokens.output': 'out',
  'tokens.source': 'tokens by',
}

const titleOf = (name: string): string => TITLES[name] ?? name.replace(/^tokens\./, '').replaceAll('_', ' ')

function columnsOf(field: string, definition: Field): PageColumn[] {
  const { kind, about, filter } = definition
  if (kind === 'tokens')
    return TOKEN_PARTS.map((part) => ({
      name: `${field}.${part}`,
      title: titleOf(`${field}.${part}`),
      about:
        part === 'source'
          ? 'whose counts these are: reported, or estimated'
          : `${part.replace('_', ' ')} tokens`,
      isNumber: part !== 'source',
      filterOf: () => null,
      show: ({ tokens }) => (part === 'source' ? (tokens[part] ?? '–') : format.count(tokens[part])),
    }))
  const own = (record: CallRecord): unknown => (record as Record<string, unknown>)[field]
  return [
    {
      name: field,
      title: titleOf(field),
      about: about.replaceAll('`', '').replaceAll('*', ''),
      isNumber: NUMBERS.includes(kind),
      filterOf(record) {
        const value = own(record)
        if (!filter || value === null || value === undefined || value === '') return null
        if (kind === 'count') return Number(value) > 0 ? [filter, 'some'] : null
        return [filter, String(value)]
      },
      show: (record) => SPECIAL[field]?.(record) ?? show(kind, own(record)),
    },
  ]
}

function show(kind: Kind, value: unknown): ComponentChild {
  if (value === null || value === undefined) return <span class="none">–</span>
  if (kind === 'time') return <Time iso={value as string} />
  if (kind === 'ms') return format.ms(value as number)
  if (kind === 'usd') return format.usd(value as number)
  if (kind === 'count') return format.count(value as number)
  if (kind === 'boolean') return value ? 'yes' : 'no'
  if (kind === 'decision') return (value as CallRecord['decision']).cause
  if (kind === 'price') return (value as NonNullable<CallRecord['price']>).source
  if (kind === 'words') return (value as readonly string[]).join(', ') || 'nothing'
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}

const SPECIAL: Readonly<Record<string, (record: CallRecord) => ComponentChild>> = {
  id: ({ id }) => <span title={id}>{format.tail(id, 12)}</span>,
  created_at: ({ created_at }) => <Time iso={created_at} />,
  state: ({ state, status }) => (
    <>
      <State state={state} />
      {state === 'failed' && status !== null && ` ${status}`}
    </>
  ),
  // A passed-through call may name no model; then its endpoint describes it.
  requested_model: (record) => record.requested_model || `${record.method} ${record.endpoint}`,
  resolved_model: ({ resolved_model: asked, response_model: answered }) =>
    isOtherModel(asked, answered) ? `${asked} → ${answered}` : asked || <span class="none">–</span>,
  cost_usd: (record) => (record.cost_usd === null ? null : format.cost(record)),
  client: ({ client }) => (client === null ? null : <span title={client}>{client.replace(/ .*/s, '')}</span>),
  session_id: ({ session_id }) =>
    session_id === null ? null : <span title={session_id}>{format.tail(session_id)}</span>,
}

export function State({ state }: { state: string }) {
  return <span class={`state ${state}`}>{state}</span>
}

export const PAGE_COLUMNS: readonly PageColumn[] = Object.entries<Field>(CALL_FIELDS).flatMap(
  ([name, field]) => columnsOf(name, field),
)

/** Default columns, without names that are not fields. */
export const USUAL = [
  'created_at',
  'state',
  'requested_model',
  'resolved_provider',
  'resolved_model',
  'tokens.input',
  'tokens.output',
  'cost_usd',
  'ttft_ms',
  'latency_ms',
  'session_id',
]

export function chosen(text: string | null): readonly PageColumn[] {
  const names = text === null ? USUAL : text.split(',')
  const found = names.flatMap((name) => PAGE_COLUMNS.find((column) => column.name === name) ?? [])
  return found.length > 0 ? found : PAGE_COLUMNS.filter(({ name }) => USUAL.includes(name))
}

/** Returns the target of a link in a column, in addition to its filter. */
export const linkOf = (column: PageColumn, record: CallRecord): string | null =>
  column.name === 'session_id' && record.session_id !== null ? sessionHref(record.session_id) : null

/** A moment in the reader's zone, with UTC on hover. */
export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={format.utc(iso)}>
      {format.time(iso)}
    </time>
  )
}
