// Profiles: the requirements that a run tests. Each profile is a file in conformance/profiles/ that selects
// rows of requirements.yaml by the programs that they bind, or by their ids.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import { TESTED_DIALECTS } from '../dialects/dialect.ts'
import { level, type Requirement, type Requirements, SCOPES } from './requirements.ts'

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
