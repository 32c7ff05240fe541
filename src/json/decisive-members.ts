// Members of a request by which the gateway decides: its route, its stream, its place of storage, its possible cost. A
// request that repeats one of them is refused, because readers of JSON differ in which value they use.
import { countsOutput } from '../core/budget.ts'
import { GatewayError } from '../core/errors.ts'
import { namesModels } from '../core/other-models.ts'
import { spliceMembers } from './splice.ts'

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
