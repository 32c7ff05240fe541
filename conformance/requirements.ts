// The requirements as rows: what each says, who it binds, and which check proves it. The rows are data, in
// requirements.yaml; this file reads them and picks those that a profile asks for.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { onEach } from './on-surfaces.ts'
import type { Target } from './target.ts'

export const PROFILES = ['core', 'observable', 'waybill'] as const
export type Profile = (typeof PROFILES)[number]

const level = z.enum(['MUST', 'SHOULD'])
/** Whom a requirement binds. */
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
  })
  .refine(
    ({ check, excluded }) => (check === undefined) !== (excluded === undefined),
    'a check, or excluded: why',
  )

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
  /** Frozen: which requirements began to count with which version of the suite. Later ones are reported and do not decide. */
  sets: z.record(z.string(), z.array(z.string())),
  specification: z.array(origin),
})

export type Requirement = z.output<typeof requirement>
export type Requirements = z.output<typeof file>

/** The same step up from conformance/ and from dist/. */
export const readRequirements = (): Requirements =>
  file.parse(parse(readFileSync(new URL('../conformance/requirements.yaml', import.meta.url), 'utf8')))

/** The scopes that each profile asks for. */
export const BOUND: Record<Profile, readonly Requirement['scope'][]> = {
  core: ['every gateway'],
  observable: ['every gateway', 'gateways that tell their route'],
  waybill: SCOPES,
}

/** Those that a profile asks for and a check can prove, in the order of the contract; for a target, on each of its surfaces. */
export const asked = (
  { requirements }: Requirements,
  profile: Profile,
  target: Pick<Target, 'surfaces'> = { surfaces: {} },
): Requirement[] =>
  requirements
    .filter(({ scope, check }) => check !== undefined && BOUND[profile].includes(scope))
    .flatMap((requirement) => onEach(requirement, target))

/** The requirements that decide in a version of the suite: those of its set and of all sets before it. */
export const setOf = ({ sets }: Requirements, suite: string): ReadonlySet<string> =>
  new Set(
    Object.entries(sets).flatMap(([version, ids]) =>
      Number(version) <= Number.parseInt(suite, 10) ? ids : [],
    ),
  )

/** MUST or SHOULD, as it binds under a profile. */
export const levelOf = ({ level, level_waybill }: Requirement, profile: Profile): 'MUST' | 'SHOULD' =>
  profile === 'waybill' ? (level_waybill ?? level) : level
