// Members of a provider's request that may be left out or replaced if the provider refuses them: finds the one that a
// refusal names. Each dialect lists its own. An unknown wording names nothing, so it is final. Knows no dialect and no model.
import type { ProviderError } from '../core/call.ts'
import type { Loss } from '../core/losses.ts'
import { omitMembers, spliceMembers } from '../json/splice.ts'
import { type Json, member } from './json.ts'

export interface OptionalMember {
  /** Names from the body down to the member. */
  readonly path: readonly string[]
  /** The loss if it is left out; null if it can only be replaced. */
  readonly loss: Loss | null
  /** What may be sent instead. */
  readonly instead?: RequestedChange
  /** Member that is left out with it. */
  readonly within?: readonly string[]
  /** Words of a refusal against which it does not help to leave it out. */
  readonly unless?: RegExp
  /** Words that mean it in a refusal that does not quote its name. */
  readonly words?: RegExp
  /** Member to leave out instead if the provider refuses this one with any value. */
  readonly whole?: readonly string[]
  /** Its refusals do not say if they are about the value, and models differ in values. */
  readonly byValue?: true
}

/** A refusal that asks for something else: a parameter by another name, thinking of another type. */
export interface RequestedChange {
  readonly words: RegExp
  /** Returns the members to set in the body. */
  readonly members: (body: Json) => Json
  readonly loss: Loss | null
}

/** A member that a provider refused: with any value, or with this one. */
export interface RefusedMember {
  /** Its path, joined by dots. */
  readonly parameter: string
  /** JSON text of the value, empty for a missing one; null for any. */
  readonly value: string | null
  /** The refusal asked for something else instead. */
  readonly isReplaced?: boolean | undefined
}

/** Returns the refused member of a body that was sent, and if its refusal is about this member alone; null if it names none. */
export function refusedMember(
  optional: readonly OptionalMember[],
  body: string,
  error: ProviderError,
): { readonly refused: RefusedMember; readonly isAlone: boolean } | null {
  const json: unknown = JSON.parse(body)
  const present = optional.filter(({ path }) => valueAt(json, path) !== undefined)
  // The member that a refusal asks for instead may be missing in the body.
  const found = namedIn(present, error) ?? optional.find(({ instead }) => instead?.words.test(error.message))
  const isReplaced = found?.instead?.words.test(error.message) === true
  if (!found || found.unless?.test(error.message) || (found.loss === null && !isReplaced)) return null
  const { path, whole, byValue } = found
  const value = JSON.stringify(valueAt(json, path)) ?? ''
  const isAny = !byValue && value !== '' && !isAboutValue(error.message, value)
  const others = present.filter((each) => each !== found).map((each) => each.path.at(-1)!)
  const isWithTools = member(json, 'tools') !== undefined && /\btools?\b/i.test(error.message)
  const isWithOthers = others.some((name) => new RegExp(`\\b${name}\\b`).test(error.message))
  const isAlone = !isWithTools && (isReplaced || !isWithOthers)
  const parameter = ((isAny && whole) || path).join('.')
  const refused = { parameter, value: isAny ? null : value }
  return { refused: { ...refused, ...(isReplaced && { isReplaced }) }, isAlone }
}

/** Returns the member that an error names as its parameter; without one, the first in quotes, or else in other words. */
function namedIn(present: readonly OptionalMember[], { message, param }: ProviderError) {
  if (param != null) return present.find(({ path }) => path.join('.') === param)
  const places = present
    .map((each) => ({ each, at: placeIn(message, each) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
  return places[0]?.each ?? present.find(({ words }) => words?.test(message))
}

/** Returns the place of the name in quotes or at the beginning, perhaps with a member below it; -1 if it is not there. */
function placeIn(message: string, { path, within }: OptionalMember): number {
  const whole = path.join('\\.')
  const short = within ? within.join('\\.') : path.at(-1)!
  const quoted = `["'\`](?:${whole}|${short})(?:\\.[\\w.]+)?["'\`]`
  const plain = `\\b(?:argument|parameter|field)s?(?: supplied)?:? (?:${whole}|${short})\\b`
  return message.search(new RegExp(`${quoted}|^${whole}\\b|${plain}`))
}

/** Returns true if a refusal is about one value of several. */
const isAboutValue = (message: string, value: string): boolean =>
  /^("[^"]*"|-?[\d.]+)$/.test(value) &&
  /unsupported value|supported values|does not support ['"`\d]|only the default|input should be|must be one of/i.test(
    message,
  )

const valueAt = (json: unknown, path: readonly string[]): unknown => path.reduce<unknown>(member, json)

/** Returns the body without the members that were refused, or with what replaces them; their names, and the losses. */
export function withoutRefusedMembers(
  optional: readonly OptionalMember[],
  body: string,
  refused: readonly RefusedMember[],
): { readonly body: string; readonly leftOut: readonly string[]; readonly losses: readonly Loss[] } {
  if (refused.length === 0) return { body, leftOut: [], losses: [] }
  const json = JSON.parse(body) as Json
  const isSent = ({ parameter, value }: RefusedMember) => {
    const sent = JSON.stringify(valueAt(json, parameter.split('.'))) ?? ''
    return value === null ? sent !== '' : sent === value
  }
  const sent = new Map(refused.filter(isSent).map((each) => [each.parameter, each]))
  const losses: Loss[] = []
  let text = body
  for (const [parameter, { isReplaced }] of [...sent].toSorted()) {
    const known = optional.find(({ path, whole = [] }) =>
      [path.join('.'), whole.join('.')].includes(parameter),
    )
    text = omitMembers(text, [known?.within ?? parameter.split('.')])
    const instead = isReplaced ? known?.instead : undefined
    if (instead) text = spliceMembers(text, textsOf(instead.members(json)))
    const loss = instead ? instead.loss : (known?.loss ?? 'unknown.field')
    if (loss !== null) losses.push(loss)
  }
  return { body: text, leftOut: [...sent.keys()].toSorted(), losses }
}

const textsOf = (members: Json): Record<string, string> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]))
