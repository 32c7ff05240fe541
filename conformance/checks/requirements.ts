// Requirements of the contract, the profiles that select some of them, and the dialects in which a check runs.
// Each profile is a file in conformance/profiles/. Reads data files; knows no check.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import { type DialectName, TESTED_DIALECTS, WORDLESS } from '../dialects/dialect.ts'
import type { Target } from '../target/schema.ts'

export const level = z.enum(['MUST', 'SHOULD'])
/**
 * Programs that a requirement binds. `named profiles`: the programs that a profile lists, each with its
 * source.
 */
export const SCOPES = [
  'every gateway',
  'gateways that tell their route',
  'Waybill',
  'model servers',
  'named profiles',
] as const
const scope = z.enum(SCOPES)

/** Reason why a check runs in its own dialect only; WITHOUT_CHAT has the effect at gateways without chat. */
const ONLY = ['calls-no-model', 'whole-run', 'any-dialect', 'chat-fields'] as const

const requirement = z
  .strictObject({
    id: z.string().regex(/^[A-Z]+-\d\d$/),
    slug: z.string().regex(/^[a-z0-9-]+$/),
    was: z.string().optional().describe('An earlier slug.'),
    since: z
      .int()
      .optional()
      .describe('The major version of the suite from which on it decides; before that it is only reported.'),
    level: level.describe('Where the scope of the row reaches.'),
    level_waybill: level.optional().describe('The level for this interface, where it is higher.'),
    scope,
    needs: z.string().optional().describe('What the contract says that the target file must declare.'),
    text: z.string().describe('The sentence of the contract.'),
    excluded: z.string().optional().describe('Why no check of this suite proves it.'),
    unchecked: z
      .string()
      .optional()
      .describe('A part of the sentence that its check does not ask for, and why.'),
    dialects: z
      .array(z.enum(TESTED_DIALECTS).exclude(['chat']))
      .default([])
      .describe('Dialects in which a check that is written for chat runs, too.'),
    only: z.enum(ONLY).optional().describe('Why a check that is written for chat runs there only.'),
    why: z.string().min(1).optional().describe('Why it matters.'),
    test: z.string().min(1).optional().describe('How it is tested.'),
    causes: z.string().min(1).optional().describe('What usually makes it fail.'),
    links: z.array(z.httpUrl()).default([]).describe('The public standard, where there is one.'),
  })
  .refine(
    ({ excluded, why, test, causes }) =>
      excluded !== undefined || [why, test, causes].every((text) => text !== undefined),
    'why, test and causes, or excluded: why there is no check',
  )
  .refine(
    ({ excluded, unchecked }) => excluded === undefined || unchecked === undefined,
    'unchecked: of a check',
  )
  .transform((row) => ({ ...row, check: row.excluded === undefined ? row.id : undefined }))

const origin = z
  .strictObject({
    id: z.string().regex(/^SPEC-\d\d$/),
    text: z.string().describe('What the interface specification states, or leaves open.'),
    requirements: z.array(z.string()).optional(),
    excluded: z.string().optional(),
    unscored: z.string().optional(),
  })
  .refine(
    ({ requirements, excluded, unscored }) => [requirements, excluded, unscored].filter(Boolean).length === 1,
    'one of requirements, excluded, unscored',
  )

const file = z.strictObject({
  requirements: z.array(requirement),
  specification: z.array(origin),
})

export type Requirement = z.output<typeof requirement>
export type Requirements = z.output<typeof file>

let read: Requirements | undefined

/** Reads the file once. */
export const readRequirements = (): Requirements =>
  (read ??= file.parse(
    parse(readFileSync(packageFile('conformance/requirements/requirements.yaml'), 'utf8')),
  ))

export const PROFILES = [
  'core',
  'observable',
  'waybill',
  'server',
  'claude-code',
  'codex',
  'open-responses',
] as const
export type Profile = (typeof PROFILES)[number]

const row = z.strictObject({
  id: z.string().regex(/^[A-Z]+-\d\d$/),
  level: level.optional().describe('The level in this profile, if it is another one than the row has.'),
  since: z
    .int()
    .optional()
    .describe('The set from which on it counts here, if the row belonged to an earlier set already.'),
  says: z.string().describe('What the source says, in our words.'),
  source: z.httpUrl().describe('The address of the sentence.'),
})

const profile = z
  .strictObject({
    title: z.string(),
    about: z.string().describe('What it is for, in a sentence or two.'),
    untested: z.string().optional().describe('What a passing run does not show; printed below each result.'),
    live: z
      .boolean()
      .default(false)
      .describe('There is no mock behind the target, so that each call may cost money.'),
    dialect: z
      .enum(TESTED_DIALECTS)
      .optional()
      .describe('The only dialect in which its rows are tested; default every one that the target declares.'),
    scopes: z.array(z.enum(SCOPES)).default([]).describe('All rows that bind these.'),
    rows: z.array(row).default([]).describe('Single rows, each with its source.'),
  })
  .refine(({ scopes, rows }) => (scopes.length === 0) !== (rows.length === 0), 'scopes or rows, and not both')

type ProfileFile = z.output<typeof profile>

const known = new Map<Profile, ProfileFile>()

/** Reads a profile's file once. */
export function readProfile(name: Profile): ProfileFile {
  const read =
    known.get(name) ??
    profile.parse(parse(readFileSync(packageFile(`conformance/profiles/${name}.yaml`), 'utf8')))
  known.set(name, read)
  return read
}

/** Returns the rows of a profile in the order of the contract, with their level in the profile. */
export function profileRows({ requirements }: Requirements, name: Profile): Requirement[] {
  const { scopes, rows } = readProfile(name)
  if (scopes.length > 0) return requirements.filter(({ scope }) => scopes.includes(scope))
  const named = new Map(rows.map((each) => [each.id, each]))
  return requirements.flatMap((requirement) => {
    const own = named.get(requirement.id)
    return own ? [{ ...requirement, level: own.level ?? requirement.level }] : []
  })
}

/** Returns the ids in a set such as `4.0`: those that this set or an earlier one introduced. */
export function decidingIn({ requirements }: Requirements, name: Profile, set: string): ReadonlySet<string> {
  const here = new Map(readProfile(name).rows.map(({ id, since }) => [id, since]))
  return new Set(
    requirements.flatMap(({ id, since }) =>
      since !== undefined && Math.max(since, here.get(id) ?? 0) <= Number.parseInt(set, 10) ? id : [],
    ),
  )
}

/** Returns a requirement's level in a profile: MUST or SHOULD. */
export const levelOf = ({ level, level_waybill }: Requirement, name: Profile): 'MUST' | 'SHOULD' =>
  name === 'waybill' ? (level_waybill ?? level) : level

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
