// Removes foreign reasoning from a request to a provider of the client's own dialect, which would refuse it
// as a forged signature. Reasoning of another family was marked on its way to the client (`packOpaque`). A
// request without these marks is not parsed.

import { parseExact } from '../shared/exact-json.ts'
import { mayHoldCarriers, unpackOpaque } from './blocks.ts'
import { isObject } from './json.ts'

type Open = Record<string, unknown>

/** Members that hold a provider's opaque data, in any dialect. */
const SEALED = ['signature', 'data', 'encrypted_content', 'thoughtSignature', 'thought_signature']

/** Returns the body without foreign reasoning; the same text if there is none. */
export function withoutForeignReasoning(text: string, family: string | null): string {
  if (!mayHoldCarriers(text)) return text
  const json = parseExact(text)
  const waiting: unknown[] = [json]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (!isObject(value)) {
      if (Array.isArray(value)) for (const each of value) waiting.push(each)
      continue
    }
    const object = value as Open
    for (const [name, each] of Object.entries(object)) {
      if (Array.isArray(each)) {
        const kept = each.filter((part) => !isForeign(part, family))
        if (kept.length < each.length) object[name] = kept
        if (kept.length === 0 && each.length > 0 && name === 'reasoning_details') delete object[name]
        waiting.push(kept)
      } else waiting.push(each)
    }
  }
  return JSON.stringify(withoutEmptied(json as Open))
}

/**
 * Returns true for foreign reasoning. Also unpacks the provider's own reasoning. A call with foreign data is kept
 * without the foreign data.
 */
function isForeign(part: unknown, family: string | null): boolean {
  if (!isObject(part)) return false
  const object = part as Open
  for (const name of SEALED) {
    const value = object[name]
    const opaque = typeof value === 'string' ? unpackOpaque(value) : null
    if (!opaque) continue
    if (opaque.family === family && opaque.bytes !== '') object[name] = opaque.bytes
    else if (/thinking|reasoning|^thought$/.test(String(object.type))) return true
    else delete object[name]
  }
  return false
}

/** Removes messages that are empty without the foreign reasoning, because providers refuse them. */
function withoutEmptied(json: Open): Open {
  const isEmpty = (message: unknown) =>
    isObject(message) && Array.isArray(message.content) && message.content.length === 0
  return Array.isArray(json.messages)
    ? { ...json, messages: json.messages.filter((each) => !isEmpty(each)) }
    : json
}
