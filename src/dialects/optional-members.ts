// Members of a provider request that may be omitted or replaced if the provider refuses them. Finds the
// member that a refusal names. Each dialect has its own list. A refusal in unknown words is final.
// Independent of dialects and models.
import type { ProviderError } from '../core/call.ts'
import { type Loss, Losses } from '../core/losses.ts'
import { omitMembers, type Replacement, spliceMembers } from '../json/splice.ts'
import type { Facts } from '../models/facts.ts'
import { nearestEffort } from './blocks.ts'
import { type Json, member } from './json.ts'

export interface OptionalMember {
  /** Names from the body down to the member. */
  readonly path: readonly string[]
  /** Loss if the member is omitted; null if the member can only be replaced. */
  readonly loss: Loss | null
  /** Replacement that may be sent instead. */
  readonly instead?: RequestedChange
  /** Enclosing member that is omitted with this member. */
  readonly within?: readonly string[]
  /** Words of a refusal that would remain even without the member. */
  readonly unless?: RegExp
  /** Words for the member in a refusal that does not quote its name. */
  readonly words?: RegExp
  /** Member to omit instead if the provider refuses this member with every value. */
  readonly whole?: readonly string[]
  /** True if models accept different values and a refusal does not say whether it concerns the value. */
  readonly byValue?: true
}

/** A change that a refusal asks for: another parameter name or another type of thinking. */
interface RequestedChange {
  readonly words: RegExp
  /** Returns the members to set in the body; null if the model is known to refuse them. */
  readonly members: (body: Json, factsOf: FactsIn) => Json | null
  readonly loss: Loss | null
}

/** Returns the known facts about the model when called in a dialect. */
export type FactsIn = (dialect: string) => Facts

/** A member that a provider refused, with every value or with a particular value. */
export interface RefusedMember {
  /** Path of the member, joined by dots. */
  readonly parameter: string
  /** JSON text of the refused value; empty if the member is missing. Null if every value is refused. */
  readonly value: string | null
  /** True if the refusal asked for a replacement. */
  readonly isReplaced?: boolean | undefined
}

/**
 * Returns the member of a sent body that an error refuses. Null if the error names none, or asks for a
 * replacement that the model is known to refuse. `isAlone`: true if the error concerns this member only.
 */
export function refusedMember(
  optional: readonly OptionalMember[],
  body: string,
  error: ProviderError,
  factsOf: FactsIn,
): { readonly refused: RefusedMember; readonly isAlone: boolean } | null {
  const json = JSON.parse(body) as Json
  const present = optional.filter(({ path }) => valueAt(json, path) !== undefined)
  // The member that a refusal asks to replace may be missing in the body.
  const found = namedIn(present, error) ?? optional.find(({ instead }) => instead?.words.test(error.message))
  const isReplaced = found?.instead?.words.test(error.message) === true
  if (!found || found.unless?.test(error.message) || (found.loss === null && !isReplaced)) return null
  if (isReplaced && found.instead!.members(json, factsOf) === null) return null
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

/**
 * Returns the member that an error names: as its parameter, or else first in quotes, or else in other words.
 */
function namedIn(present: readonly OptionalMember[], { message, param }: ProviderError) {
  if (param != null) return present.find(({ path }) => path.join('.') === param)
  const places = present
    .map((each) => ({ each, at: placeIn(message, each) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
  return places[0]?.each ?? present.find(({ words }) => words?.test(message))
}

/**
 * Returns the position of the member's name in a message, in quotes or at the beginning; -1 if it is missing.
 */
function placeIn(message: string, { path, within }: OptionalMember): number {
  const whole = path.join('\\.')
  const short = within ? within.join('\\.') : path.at(-1)!
  const quoted = `["'\`](?:${whole}|${short})(?:\\.[\\w.]+)?["'\`]`
  const plain = `\\b(?:argument|parameter|field)s?(?: supplied)?:? (?:${whole}|${short})\\b`
  return message.search(new RegExp(`${quoted}|^${whole}\\b|${plain}`))
}

/** Returns true if a refusal concerns one of several possible values. */
const isAboutValue = (message: string, value: string): boolean =>
  /^("[^"]*"|-?[\d.]+)$/.test(value) &&
  /unsupported value|supported values|does not support ['"`\d]|only the default|input should be|must be one of/i.test(
    message,
  )

const valueAt = (json: unknown, path: readonly string[]): unknown => path.reduce<unknown>(member, json)

/** Returns the body with refused members omitted or replaced, the names of these members, and the losses. */
export function withoutRefusedMembers(
  optional: readonly OptionalMember[],
  body: string,
  refused: readonly RefusedMember[],
  factsOf: FactsIn,
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
    const instead = isReplaced ? known?.instead : undefined
    const members = instead?.members(json, factsOf)
    if (members === null) {
      sent.delete(parameter)
      continue
    }
    text = omitMembers(text, [known?.within ?? parameter.split('.')])
    if (members) text = spliceMembers(text, textsOf(members))
    const loss = instead ? instead.loss : (known?.loss ?? 'unknown.field')
    if (loss !== null) losses.push(loss)
  }
  return { body: text, leftOut: [...sent.keys()].toSorted(), losses }
}

const textsOf = (members: Json): Record<string, string> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]))

// The effort and the output limit that a route sets for a target. Each dialect writes them in its `tuned`.

interface Tuning {
  /** Effort that replaces the client's; null leaves the client's effort. */
  readonly effort: string | null
  /** Maximum output tokens. A lower limit from the client stays. Null leaves the client's limit. */
  readonly maxOutput: number | null
}

/**
 * Returns a request body with this effort and limit, as far as the model accepts them. `factsOf`: facts by
 * dialect.
 */
export type Tune = (body: string, tuning: Tuning, factsOf: (dialect: string) => Facts) => string

/** Returns the nearest level that the model is known to accept; null if it accepts no level. */
export const levelFor = (effort: string, { efforts }: Facts, words: readonly string[]): string | null =>
  nearestEffort(effort, efforts ?? words, new Losses())

/** Returns a function that lowers a limit to `most`. */
export const atMost =
  (most: number): Replacement =>
  (before) => {
    const asked = before === undefined ? null : JSON.parse(before)
    return String(typeof asked === 'number' ? Math.min(asked, most) : most)
  }

/** Replaces members of an object inside the body. Any other value is replaced whole. */
export const inside =
  (values: Readonly<Record<string, Replacement>>): Replacement =>
  (before) =>
    spliceMembers(before?.startsWith('{') ? before : '{}', values)
