// Requirements as rows: sentence, scope, explanation, and the dialects of the check. Reads requirements.yaml.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import { TESTED_DIALECTS } from '../dialects/dialect.ts'

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

/** Reason why a check runs in its own dialect only; applicability.ts has the effect at gateways without chat. */
export const ONLY = ['calls-no-model', 'whole-run', 'any-dialect', 'chat-fields'] as const

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

let known: Requirements | undefined

/** Reads the file once. */
export const readRequirements = (): Requirements =>
  (known ??= file.parse(
    parse(readFileSync(packageFile('conformance/requirements/requirements.yaml'), 'utf8')),
  ))
