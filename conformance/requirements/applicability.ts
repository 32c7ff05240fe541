// Decides in which dialects and at which targets a requirement's check runs. A check in a dialect other than
// its own has a separate id, such as `FLOW-03@messages`, in findings, reports and baselines. Pure.

import { type DialectName, TESTED_DIALECTS, WORDLESS } from '../dialects/dialect.ts'
import type { Target } from '../target/schema.ts'
import { type Profile, profileRows, readProfile } from './profiles.ts'
import { type ONLY, type Requirement, type Requirements, readRequirements } from './requirements.ts'

/** Dialects in addition to chat. */
export type Further = Exclude<DialectName, 'chat'>

const rows = new Map(readRequirements().requirements.map((row) => [row.id, row]))

/** Returns the other dialects in which a check written for chat runs. */
export const furtherOf = (id: string): readonly Further[] => rows.get(id)?.dialects ?? []

/**
 * Dialects of a check written for chat at a gateway without chat: any served dialect, only a dialect with
 * text answers, or none.
 */
const WITHOUT_CHAT: Readonly<Record<(typeof ONLY)[number], 'anywhere' | 'with words' | 'not'>> = {
  'calls-no-model': 'anywhere',
  'whole-run': 'anywhere',
  'any-dialect': 'with words',
  // DIAL-01 and DIAL-02 also test the fields of other dialects.
  'chat-fields': 'not',
}

/**
 * Returns the requirements of a profile that have a check, in the order of the contract; for a target, in
 * each of its dialects.
 */
export const requirementsFor = (
  requirements: Requirements,
  profile: Profile,
  target: Pick<Target, 'dialects'> = { dialects: {} },
): Requirement[] =>
  profileRows(requirements, profile)
    .filter(({ check }) => check !== undefined)
    .flatMap((requirement) => onEach(requirement, target, readProfile(profile).dialect))

/**
 * Returns a requirement and its variants in the other dialects that a target declares. If `dialect` is given,
 * returns only this variant of a requirement written for chat.
 */
function onEach(
  requirement: Requirement,
  { dialects }: Pick<Target, 'dialects'>,
  dialect: DialectName | undefined,
): Requirement[] {
  const { id } = requirement
  const variants = requirement.dialects
    .filter((name) => dialects[name] !== undefined || name === dialect)
    .map((name) => ({ ...requirement, id: `${id}@${name}`, check: `${id}@${name}` }))
  if (dialect === undefined) return [requirement, ...variants]
  const there = variants.filter(({ id: variant }) => variant === `${id}@${dialect}`)
  return there.length > 0 ? there : [requirement]
}

/**
 * Returns the dialect of calls that are not tied to a dialect: chat, or else the first that the gateway
 * serves.
 */
export const homeDialect = ({ dialects }: Pick<Target, 'dialects'>): DialectName =>
  dialects.chat === false
    ? (TESTED_DIALECTS.find((name) => name !== 'chat' && dialects[name]) ?? 'chat')
    : 'chat'

/** Returns the dialect of a check's calls at a target; null if the target serves no suitable dialect. */
export function dialectFor(
  { id, dialect }: { readonly id: string; readonly dialect?: DialectName },
  target: Pick<Target, 'dialects'>,
): DialectName | null {
  const home = homeDialect(target)
  if (dialect !== undefined || home === 'chat') return dialect ?? 'chat'
  const only = rows.get(id)?.only
  const otherwise = only === undefined ? 'not' : WITHOUT_CHAT[only]
  return otherwise === 'anywhere' || (otherwise === 'with words' && !WORDLESS.includes(home)) ? home : null
}

/** Removes the dialect from an id: `FLOW-03@messages/event-arrives-at-once` -> `FLOW-03/event-…`. */
export const withoutDialect = (id: string): string => id.replace(/@\w+/, '')
