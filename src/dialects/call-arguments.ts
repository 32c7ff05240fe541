// Arguments of calls as JSON. Numbers keep their original digits.
import { parseExact } from '../shared/exact-json.ts'
import { isObject, type Json } from './json.ts'

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
