// JSON whose numbers keep their spelling: 18446744073709551616 and 1.0 would come out of JSON.parse as something else.
// What is parsed here can only be written again (JSON.stringify), not counted with.
import { isObject, type Json } from './json.ts'

/** A number that JSON.parse and JSON.stringify would not give back as it was. */
const INEXACT = /[-:[,\s](\d{16,}|\d+\.\d*0\b|\d[\d.]*[eE]|-0\b|\d+\.\d{16,})/

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON
const keepSpelling: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? raw(source) : value

export const parseExact = (text: string): unknown =>
  INEXACT.test(text)
    ? JSON.parse(text, keepSpelling as (key: string, value: unknown) => unknown)
    : JSON.parse(text)

/** Arguments of a call as an object; null where they are none. Empty arguments are an empty object. */
export function argumentsOf(args: string): Json | null {
  if (args.trim() === '') return {}
  try {
    const json = parseExact(args)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}
