// Requirements as rows: sentence, scope, and the check that proves it. Reads requirements.yaml and selects
// the rows of a profile.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import type { Target } from '../target/schema.ts'
import { type Further, ON } from './applicability.ts'

export const PROFILES = ['core', 'observable', 'waybill'] as const
export type Profile = (typeof PROFILES)[number]

const level = z.enum(['MUST', 'SHOULD'])
/** Gateways that a requirement binds. */
export const SCOPES = ['every gateway', 'gateways that tell their route', 'Waybill'] as const
const scope = z.enum(SCOPES)

const requirement = z
  .strictObject({
    id: z.string().regex(/^[A-Z]+-\d\d$/),
    slug: z.string().regex(/^[a-z0-9-]+$/),
    level: level.describe('Where the scope of the row reaches.'),
    level_waybill: level.optional().describe('The level for this interface, where it is higher.'),
    scope,
    needs: z.string().optional().describe('What the contract says that the target file must declare.'),
    text: z.string().describe('The sentence of the contract, word for word.'),
    check: z.string().optional(),
    excluded: z.string().optional().describe('Why no check of this suite proves it.'),
    unchecked: z
      .string()
      .optional()
      .describe('A part of the sentence that its check does not ask for, and why.'),
  })
  .refine(
    ({ check, excluded }) => (check === undefined) !== (excluded === undefined),
    'a check, or excluded: why',
  )
  .refine(({ check, unchecked }) => check !== undefined || unchecked === undefined, 'unchecked: of a check')

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
  /**
   * Frozen: requirements that began to count with each version of the suite. Later ones are reported and do
   * not decide.
   */
  sets: z.record(z.string(), z.array(z.string())),
  specification: z.array(origin),
})

export type Requirement = z.output<typeof requirement>
export type Requirements = z.output<typeof file>

export const readRequirements = (): Requirements =>
  file.parse(parse(readFileSync(packageFile('conformance/requirements/requirements.yaml'), 'utf8')))

/** Scopes that each profile includes. */
export const BOUND: Record<Profile, readonly Requirement['scope'][]> = {
  core: ['every gateway'],
  observable: ['every gateway', 'gateways that tell their route'],
  waybill: SCOPES,
}

/**
 * Returns the requirements of a profile that a check can prove, in the order of the contract; for a target,
 * in each of its dialects.
 */
export const asked = (
  { requirements }: Requirements,
  profile: Profile,
  target: Pick<Target, 'dialects'> = { dialects: {} },
): Requirement[] =>
  requirements
    .filter(({ scope, check }) => check !== undefined && BOUND[profile].includes(scope))
    .flatMap((requirement) => onEach(requirement, target))

/** Returns the requirements that decide in a version of the suite: its set and all earlier ones. */
export const setOf = ({ sets }: Requirements, suite: string): ReadonlySet<string> =>
  new Set(
    Object.entries(sets).flatMap(([version, ids]) =>
      Number(version) <= Number.parseInt(suite, 10) ? ids : [],
    ),
  )

/** Returns MUST or SHOULD under a profile. */
export const levelOf = ({ level, level_waybill }: Requirement, profile: Profile): 'MUST' | 'SHOULD' =>
  profile === 'waybill' ? (level_waybill ?? level) : level

/** Returns a requirement and its variants in the other dialects that a target declares. */
function onEach(requirement: Requirement, { dialects }: Pick<Target, 'dialects'>): Requirement[] {
  const { id } = requirement
  const further = (Object.keys(ON) as Further[]).filter(
    (name) => dialects[name] !== undefined && ON[name].includes(id),
  )
  return [
    requirement,
    ...further.map((name) => ({ ...requirement, id: `${id}@${name}`, check: `${id}@${name}` })),
  ]
}
