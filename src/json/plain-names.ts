// Names of members in a request. They are spelt without needless escapes, because V8 misreads names with escapes (seen
// in 13.6, https://github.com/nodejs/node/issues/63785): after an object with the member `max_token\`, the name
// "max_token\u0073" is read as `max_token\`. So one client could change what another client's request means, or hide a
// limit of its own request from the gateway. A request that repeats a member by which the gateway decides (its route,
// its stream, its place of storage, its possible cost) is refused, because readers of JSON differ in which value they
// use.

import { countsOutput } from '../core/budget.ts'
import { GatewayError } from '../core/errors.ts'
import { namesModels } from '../core/other-models.ts'
import { endOfString, nameIn, skipSpace, spliceMembers } from './splice.ts'

/**
 * Returns the same JSON with the names of members written without escapes, except for quotation marks, backslashes,
 * control characters and lone surrogates. Everything else keeps its bytes. Ends for any text, in time linear in it;
 * throws `JsonStructureError` if a string has no end or a name has an invalid escape.
 */
export function plainNames(text: string): string {
  if (!text.includes('\\')) return text
  let out = ''
  let copied = 0
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = endOfString(text, at)
    if (text[skipSpace(text, end)] === ':') {
      const name = text.slice(at, end)
      if (name.includes('\\')) {
        out += text.slice(copied, at) + JSON.stringify(nameIn(name))
        copied = end
      }
    }
    at = text.indexOf('"', end)
  }
  return out + text.slice(copied)
}

/**
 * Returns the name of a member that an object has twice; null if there is none. `text` must be valid for JSON.parse,
 * with plain names. Reads the text once, without recursion. Readers differ in which value of a repeated member they use.
 */
export function repeatedMember(text: string): string | null {
  const open: Set<string>[] = []
  for (let at = 0; at < text.length; at++)
    switch (text[at]) {
      case '{':
        open.push(new Set())
        break
      case '}':
        open.pop()
        break
      case '"': {
        const end = endOfString(text, at)
        if (text[skipSpace(text, end)] === ':') {
          const name = text.slice(at + 1, end - 1)
          const names = open.at(-1)!
          if (names.has(name)) return name
          names.add(name)
        }
        at = end - 1
      }
    }
  return null
}

const DECISIVE = new Set([
  ...['model', 'stream', 'background', 'store', 'previous_response_id', 'conversation'],
  ...['service_tier', 'serviceTier', 'speed', 'inference_geo', 'tools'],
])

/**
 * Throws if a decisive member is repeated, at the top of a request or in an object with settings of its output.
 * `json`: the parsed text. A request without repeated names costs two searches for each of its decisive members.
 */
export function refuseRepeated(text: string, json: Readonly<Record<string, unknown>>): void {
  for (const name in json) {
    if (!DECISIVE.has(name) && !namesModels(name) && !countsOutput(name)) continue
    const value = json[name]
    if (hasTwice(text, name) && isRepeated(text, name)) throw repeated(name)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !countsOutput(name)) continue
    for (const inner in value)
      if (countsOutput(inner) && hasTwice(text, inner) && isRepeatedIn(text, name, inner))
        throw repeated(inner)
  }
}

const repeated = (name: string): GatewayError =>
  new GatewayError('invalid_request', `${name}: is there twice; send it once.`, { param: name })

/** Returns true if a name appears twice anywhere. Within a string, its quotes would be escaped. */
function hasTwice(text: string, name: string): boolean {
  const quoted = `"${name}"` // decisive names have no escapes
  return text.indexOf(quoted, text.indexOf(quoted) + quoted.length) >= 0
}

function isRepeated(text: string, name: string): boolean {
  let times = 0
  const count = (before = '') => {
    times++
    return before
  }
  spliceMembers(text, { [name]: count })
  return times > 1
}

function isRepeatedIn(text: string, outer: string, inner: string): boolean {
  let found = false
  const look = (before = '') => {
    found ||= before.startsWith('{') && isRepeated(before, inner)
    return before
  }
  spliceMembers(text, { [outer]: look })
  return found
}
