// Guesses the fields of a log from known values of a call: its ids, its model at the mock, the tokens that
// the mock reported. The guess is meant for a first target file, which a person should check. Pure.

import { readSent } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import type { Preflight } from './preflight.ts'

export interface GuessedLog {
  readonly path: string
  readonly list: string
  readonly fields: { readonly id: string } & Readonly<Record<string, string>>
}

/** Maximum depth at which records are searched for. */
const MAX_DEPTH = 6

/** Guesses the log's fields; returns null if the log has no list of records, or no record with an id. */
export function guessLog(
  { log, call, entry }: Preflight,
  model: string,
  idHeader?: string,
): GuessedLog | null {
  if (log === null) return null
  const json = jsonOf(log.body)
  const list = leaves(json, '', true).find(([, value]) => Array.isArray(value) && isRecord(value[0]))?.[0]
  if (list === undefined) return null
  const records = (list === '' ? json : at(json, list)) as unknown[]
  const id = idHeader && call.headers[idHeader.toLowerCase()]
  const has = (record: unknown, value: unknown) => leaves(record).some(([, each]) => each === value)
  const record = records.find((each) => id && has(each, id)) ?? records[0]
  const usage = readSent(entry).usage.at(-1)
  /** Returns the place of a value; if there are several, a place with a fitting name. */
  const placeOf = (value: unknown, name: RegExp): string | undefined => {
    const places = leaves(record).flatMap(([place, each]) => (each === value && value != null ? [place] : []))
    return places.find((place) => name.test(place)) ?? places[0]
  }
  const named = (name: RegExp) => leaves(record).find(([place]) => name.test(place))?.[0]
  const found = {
    id: (id ? placeOf(id, /id$/i) : undefined) ?? named(/\/(id|(request|call|log)_?id)$/i),
    requested_model: placeOf(model, /request|original|asked/i),
    provider: placeOf(entry?.provider, /provider/i),
    model: placeOf(entry?.model, /resolved|target|upstream|served|\/model$/i),
    input_tokens: placeOf(at(usage, '/prompt_tokens'), /input|prompt/i),
    output_tokens: placeOf(at(usage, '/completion_tokens'), /output|completion/i),
  }
  if (found.id === undefined) return null
  const fields = Object.fromEntries(Object.entries(found).filter(([, place]) => place !== undefined))
  return { path: log.request.path, list, fields: fields as GuessedLog['fields'] }
}

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns values with their JSON pointers, outermost first: either whole lists, or all values except lists. */
function leaves(json: unknown, pointer = '', lists = false, depth = 0): [pointer: string, value: unknown][] {
  if (Array.isArray(json)) return lists ? [[pointer, json]] : []
  if (typeof json !== 'object' || json === null) return [[pointer, json]]
  if (depth >= MAX_DEPTH) return []
  return Object.entries(json)
    .flatMap(([name, value]) =>
      leaves(value, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, lists, depth + 1),
    )
    .sort(([a], [b]) => a.split('/').length - b.split('/').length)
}
