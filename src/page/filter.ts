// What the list of calls is narrowed to. The same filters that the read endpoint takes, applied to a call that has just
// happened; and the line of text in which they are typed. By the definition of the record alone. Pure.
import { CALL_FIELDS, type CallRecord, type Field } from '../record.ts'

/** Query parameter -> the field that it asks for. */
export const FILTERS: ReadonlyMap<string, { readonly name: string; readonly field: Field }> = new Map(
  Object.entries<Field>(CALL_FIELDS).flatMap(([name, field]) =>
    field.filter ? [[field.filter, { name, field }] as const] : [],
  ),
)
export const TIMES = ['since', 'until'] as const

export type Filter = Readonly<Record<string, string>>

/** What of a URL's query is a filter. */
export const filterOf = (params: URLSearchParams): Filter =>
  Object.fromEntries([...params].filter(([name]) => FILTERS.has(name) || TIMES.includes(name as 'since')))

/** Whether a call belongs to the list that the endpoint would give for this filter. */
export function matches(filter: Filter, record: CallRecord): boolean {
  return Object.entries(filter).every(([parameter, wanted]) => {
    if (parameter === 'since') return record.created_at >= new Date(wanted).toISOString()
    if (parameter === 'until') return record.created_at < new Date(wanted).toISOString()
    const asked = FILTERS.get(parameter)
    if (!asked) return true
    const value = (record as Record<string, unknown>)[asked.name]
    if (asked.field.filterNone && wanted === 'none') return value === null
    if (asked.field.kind === 'status' && wanted === 'ok') return record.state === 'completed'
    if (asked.field.kind === 'status' && wanted === 'error')
      return ['failed', 'aborted', 'interrupted'].includes(record.state)
    if (asked.field.kind === 'count' && wanted === 'some') return Number(value) > 0
    return value !== null && String(value) === wanted
  })
}

/** `provider:groq model:"a b"` as filters. Throws words for the reader. */
export function parseTerms(text: string): Filter {
  const terms = text.match(/[^\s:]+:(?:"[^"]*"|\S*)|\S+/g) ?? []
  return Object.fromEntries(
    terms.map((term) => {
      const [, name, quoted, bare] = /^([^:]+):(?:"([^"]*)"|(.*))$/s.exec(term) ?? []
      if (name === undefined)
        throw new Error(`Write a name and a value, for example provider:groq, not ${JSON.stringify(term)}.`)
      if (!FILTERS.has(name) && !TIMES.includes(name as 'since'))
        throw new Error(
          `There is no filter ${JSON.stringify(name)}. Known filters: ${[...FILTERS.keys()].join(', ')}.`,
        )
      const value = quoted ?? bare!
      if (value === '') throw new Error(`Which ${name}? Write it after the colon.`)
      return [name, value]
    }),
  )
}
