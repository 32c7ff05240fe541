// Filters of the list of calls. These are the filters of the read endpoint, applied to a live call, and typed
// as a line of text. Derived only from the definition of the record. Pure.

import { CALL_FIELDS, type CallRecord, type Field } from '../core/record.ts'
import { nearest } from '../yaml/wording.ts'

/** Fields by query parameter. */
export const FILTERS: ReadonlyMap<string, { readonly name: string; readonly field: Field }> = new Map(
  Object.entries<Field>(CALL_FIELDS).flatMap(([name, field]) =>
    field.filter ? [[field.filter, { name, field }] as const] : [],
  ),
)
const TIMES = ['since', 'until'] as const

export type Filter = Readonly<Record<string, string>>

/** Returns the filters in a URL's query. */
export const filterOf = (params: URLSearchParams): Filter =>
  Object.fromEntries([...params].filter(([name]) => FILTERS.has(name) || TIMES.includes(name as 'since')))

/** Returns true if the endpoint's list for this filter would contain a call. */
export function matches(filter: Filter, record: CallRecord): boolean {
  return Object.entries(filter).every(([parameter, wanted]) => {
    if (parameter === 'since') return record.created_at >= new Date(wanted).toISOString()
    if (parameter === 'until') return record.created_at < new Date(wanted).toISOString()
    const asked = FILTERS.get(parameter)
    if (!asked) return true
    const value = (record as Record<string, unknown>)[asked.name]
    if (asked.field.filterNone && wanted === 'none') return value === null
    if (asked.field.filterNone && wanted === 'some') return value !== null
    if (asked.field.kind === 'status' && wanted === 'ok') return record.state === 'completed'
    if (asked.field.kind === 'status' && wanted === 'error')
      return ['failed', 'interrupted'].includes(record.state)
    if (asked.field.kind === 'count' && wanted === 'some') return Number(value) > 0
    if (asked.name === 'client' && String(value).split('/', 1)[0] === wanted) return true
    return value !== null && String(value) === wanted
  })
}

/** A mistake in a filter, as a message for the reader, and the probable intended filter. */
export interface Mistake {
  readonly text: string
  readonly meant: Filter | null
}

/** Parameters of the list's address that are not filters. */
const STATE = ['cursor', 'columns', 'live', 'scope']

/** Returns the first mistake in the address of the list; null if there is none. */
export function mistakeIn(params: URLSearchParams): Mistake | null {
  for (const [name, value] of params) {
    const mistake = STATE.includes(name) ? null : mistakeOf(name, value)
    if (mistake) return mistake
  }
  return null
}

/** Returns the mistake in a filter, based on the definition of the record. */
function mistakeOf(name: string, value: string): Mistake | null {
  if (TIMES.includes(name as 'since'))
    return Number.isNaN(Date.parse(value)) ? { text: `${quoted(value)} is not a time.`, meant: null } : null
  const asked = FILTERS.get(name)
  if (!asked) {
    const near = nearest(name, [...FILTERS.keys()])
    return near === null
      ? {
          text: `There is no filter ${quoted(name)}. Known filters: ${[...FILTERS.keys()].join(', ')}.`,
          meant: null,
        }
      : { text: `There is no filter ${quoted(name)}.`, meant: { [near]: value } }
  }
  const words = wordsOf(asked.field)
  if (words === null || words.includes(value)) return null
  if (asked.field.kind === 'status' && /^[1-5]\d\d$/.test(value)) return null
  const near = nearest(value, words)
  const known = `It can be ${words.join(', ')}${asked.field.kind === 'status' ? ' or an HTTP status' : ''}.`
  return {
    text: `${quoted(value)} is not a value of ${name}. ${near === null ? known : ''}`.trim(),
    meant: near === null ? null : { [name]: near },
  }
}

const quoted = (text: string): string => JSON.stringify(text)

/** Returns the words that a filter accepts; null if it accepts any text. */
function wordsOf({ kind, values }: Field): readonly string[] | null {
  if (kind === 'enum') return values!
  if (kind === 'status') return ['ok', 'error']
  return kind === 'count' ? ['some'] : null
}

/** Parses `provider:groq model:"a b"` into filters. Throws a message for the reader. */
export function parseTerms(text: string): Filter {
  const terms = text.match(/[^\s:]+:(?:"[^"]*"|\S*)|\S+/g) ?? []
  return Object.fromEntries(
    terms.map((term) => {
      const [, name, quotedValue, bare] = /^([^:]+):(?:"([^"]*)"|(.*))$/s.exec(term) ?? []
      if (name === undefined)
        throw new Error(`Write a name and a value, for example provider:groq, not ${JSON.stringify(term)}.`)
      const value = quotedValue ?? bare!
      if (value === '') throw new Error(`Which ${name}? Write it after the colon.`)
      const mistake = mistakeOf(name, value)
      if (mistake) throw new Error(`${mistake.text}${mistake.meant ? ` ${question(mistake.meant)}` : ''}`)
      return [name, value]
    }),
  )
}

/** Returns the question `Did you mean provider:groq?` */
export const question = (meant: Filter): string =>
  `Did you mean ${Object.entries(meant).map(([name, value]) => `${name}:${value}`)}?`
