// Arguments of calls as JSON. Numbers keep their original digits.
import { parseExact } from '../shared/exact-json.ts'
import { isObject, type Json } from './json.ts'

/** Ways to write that there are no arguments. */
const NONE = /^\s*(?:null|undefined|"")?\s*$/

/** Returns the arguments of a call as text. A provider's request needs an object, so missing arguments become `{}`. */
export const plainArguments = (args: string): string => (NONE.test(args) ? '{}' : args)

/** Parses the arguments of a call; null if they are not an object. Missing arguments are an empty object. */
export function argumentsOf(args: string): Json | null {
  if (NONE.test(args)) return {}
  try {
    const json = parseExact(args)
    return isObject(json) ? json : null
  } catch {
    return null
  }
}
