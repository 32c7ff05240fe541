// Parses JSON so that numbers keep their spelling: JSON.parse would change 18446744073709551616 and 1.0. The
// result is only for writing (JSON.stringify), not for arithmetic.
import { isObject, type Json } from './json.ts'

/** A number that would not survive JSON.parse and JSON.stringify unchanged. */
const INEXACT = /[-:[,\s](\d{16,}|\d+\.\d*0\b|\d[\d.]*[eE]|-0\b|\d+\.\d{16,})/

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON
const keepSpelling: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? raw(source) : value

/** Returns true if JSON.parse loses nothing. */
export const isExact = (text: string): boolean => !INEXACT.test(text)

export const parseExact = (text: string): unknown =>
  isExact(text)
    ? JSON.parse(text)
    : JSON.parse(text, keepSpelling as (key: string, value: unknown) => unknown)

/** Parses the arguments of a call; null if they are not an object. Empty arguments are an empty object. */
export function argumentsOf(args: string): Json | null {
  if (args.trim() === '') return {}
  try {
    const json = parseExact(args)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}
