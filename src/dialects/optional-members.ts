// Members of a provider's request that may be left out if the provider refuses them: finds the one that a refusal names.
// Each dialect lists its own. An unknown wording names nothing, so it is final. Knows no dialect and no model.
import type { ProviderError } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import { omitMembers } from '../json/splice.ts'
import { member } from './json.ts'

export interface OptionalMember {
  /** Names from the body down to the member. */
  readonly path: readonly string[]
  /** The loss if it is left out. */
  readonly loss: Loss
  /** Words that mean it in a refusal that does not quote its name. */
  readonly words?: RegExp
  /** Member to leave out instead if the provider refuses this one with any value. */
  readonly whole?: readonly string[]
  /** Its refusals do not say if they are about the value, and models differ in values. */
  readonly byValue?: true
}

/** A member that a provider refused: with any value, or with this one. */
export interface RefusedMember {
  /** Its path, joined by dots. */
  readonly parameter: string
  /** JSON text of the value; null for any. */
  readonly value: string | null
}

/** Returns the refused member of a body that was sent, and if its refusal is about this member alone; null if it names none. */
export function refusedMember(
  optional: readonly OptionalMember[],
  body: string,
  error: ProviderError,
): { readonly refused: RefusedMember; readonly isAlone: boolean } | null {
  const json: unknown = JSON.parse(body)
  const present = optional.filter(({ path }) => valueAt(json, path) !== undefined)
  const found = namedIn(present, error)
  if (!found) return null
  const { path, whole, byValue } = found
  const value = JSON.stringify(valueAt(json, path))
  const isAny = !byValue && !isAboutValue(error.message, value)
  const others = present.filter((each) => each !== found).map((each) => each.path.at(-1)!)
  const isAlone =
    !others.some((name) => new RegExp(`\\b${name}\\b`).test(error.message)) &&
    !(member(json, 'tools') !== undefined && /\btools?\b/i.test(error.message))
  const parameter = ((isAny && whole) || path).join('.')
  return { refused: { parameter, value: isAny ? null : value }, isAlone }
}

/** Returns the member that an error names as its parameter; without one, the first in quotes, or else in other words. */
function namedIn(present: readonly OptionalMember[], { message, param }: ProviderError) {
  if (param != null) return present.find(({ path }) => path.join('.') === param)
  const places = present
    .map((each) => ({ each, at: placeIn(message, each.path) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
  return places[0]?.each ?? present.find(({ words }) => words?.test(message))
}

/** Returns the place of the name in quotes or at the beginning, perhaps with what stands below it; -1 if it is not there. */
function placeIn(message: string, path: readonly string[]): number {
  const whole = path.join('\\.')
  const quoted = `["'\`](?:${whole}|${path.at(-1)!})(?:\\.[\\w.]+)?["'\`]`
  const plain = `\\b(?:argument|parameter|field)s?(?: supplied)?:? (?:${whole}|${path.at(-1)!})\\b`
  return message.search(new RegExp(`${quoted}|^${whole}\\b|${plain}`))
}

/** Returns true if a refusal is about one value of several. */
const isAboutValue = (message: string, value: string): boolean =>
  /^("[^"]*"|-?[\d.]+)$/.test(value) &&
  /unsupported value|supported values|does not support ['"`\d]|only the default|input should be|must be one of/i.test(
    message,
  )

const valueAt = (json: unknown, path: readonly string[]): unknown => path.reduce<unknown>(member, json)

/** Returns the body without the members that were refused, and their names. */
export function withoutRefusedMembers(
  body: string,
  refused: readonly RefusedMember[],
): { readonly body: string; readonly leftOut: readonly string[] } {
  if (refused.length === 0) return { body, leftOut: [] }
  const json: unknown = JSON.parse(body)
  const isSent = ({ parameter, value }: RefusedMember) => {
    const sent = valueAt(json, parameter.split('.'))
    return sent !== undefined && (value === null || JSON.stringify(sent) === value)
  }
  const leftOut = [...new Set(refused.filter(isSent).map(({ parameter }) => parameter))].toSorted()
  const paths = leftOut.map((parameter) => parameter.split('.'))
  return { body: omitMembers(body, paths), leftOut }
}

/** Returns the loss of leaving a member out. */
export const lossOfMember = (optional: readonly OptionalMember[], parameter: string): Loss =>
  optional.find(({ path, whole = [] }) => [path.join('.'), whole.join('.')].includes(parameter))?.loss ??
  'unknown.field'
