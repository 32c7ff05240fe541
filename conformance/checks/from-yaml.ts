// Runs the checks that are data. Reads cases.yaml, makes the calls and compares the results; expectations.ts
// evaluates the expectations. Independent of single requirements.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'
import { TESTED_DIALECTS } from '../dialects/dialect.ts'
import { everyModel, modelsOf, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import type { Details, Evidence, Exchange } from '../evidence/evidence.ts'
import type { Check } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import type { Capability } from '../target/schema.ts'
import { expectation, meets } from './expectations.ts'

const scalar = z.union([z.string(), z.number(), z.boolean()])

const call = z.strictObject({
  step: z.string(),
  each: z.record(z.string(), z.union([z.string(), z.array(scalar)])).default({}),
  /** Only dialect in which the case runs, because its script is written for it. */
  on: z.enum(TESTED_DIALECTS).optional(),
  stream: z.boolean().optional(),
  body: z.record(z.string(), z.unknown()).default({}),
  headers: z.record(z.string(), z.string()).default({}),
  script: z.array(z.record(z.string(), z.unknown())).optional(),
  /** Maximum duration of the call, ms. */
  timeout: z.int().optional(),
  /** True if the check waits until late requests of all calls have arrived. */
  drain: z.boolean().default(false),
  cooldown: z.boolean().default(false),
  /** Minimum wait, ms. */
  wait: z.int().default(0),
})

const caseSchema = z.strictObject({
  needs: z.array(z.custom<Capability>((value) => typeof value === 'string')).default([]),
  /** Dialect of the calls; default: chat. */
  dialect: z.enum(TESTED_DIALECTS).optional(),
  hostile: z.boolean().default(false),
  /** True if the case applies to relayed calls only; translated calls are skipped. */
  relays: z.boolean().default(false),
  /** Maximum duration of the whole case, ms. */
  timeout: z.int().optional(),
  calls: z.array(call).min(1),
  expect: z.array(expectation).min(1),
})
type Call = z.output<typeof call>

const read = z
  .record(z.string(), caseSchema)
  .safeParse(parse(readFileSync(packageFile('conformance/checks/cases.yaml'), 'utf8')))
if (!read.success) {
  const { path, message } = read.error.issues[0]!
  throw new Error(
    `conformance/checks/cases.yaml does not fit this build of the suite; build it again with npm run build (${path.join('.')}: ${message})`,
    { cause: read.error },
  )
}

export const cases: readonly Check[] = Object.entries(read.data).map(
  ([id, { needs, dialect, hostile, relays, timeout, calls, expect }]) => ({
    id,
    needs,
    hostile,
    ...(relays && { relays }),
    ...(dialect !== undefined && { dialect }),
    ...(timeout !== undefined && { timeout }),
    async exercise(session) {
      for (const each of calls)
        if (each.on === undefined || each.on === session.dialect.name) await make(session, each)
    },
    judge: (judging) =>
      expect
        .filter((each) => judging.waybill || !each.waybill)
        .flatMap((each) =>
          judging.evidence.exchanges
            .filter(({ step }) => each.of === undefined || each.of.includes(step))
            .filter((exchange) => !relays || !wasTranslated(judging.evidence, exchange))
            .map((exchange) => ({
              ...meets(each, exchange, judging),
              ...(each.advice && { advice: true }),
            })),
        ),
  }),
)

function wasTranslated(evidence: Evidence, exchange: Exchange): boolean {
  const entry = servedBy(evidence, exchange)
  return entry !== null && isCrossed(exchange, entry)
}

async function make(session: CheckContext, call: Call): Promise<void> {
  const { cooldown_ms } = session.target.capabilities
  for (const details of combinations(call.each, session)) {
    const { model, stream = call.stream ?? false } = details
    await session.chat(
      { step: call.step, details },
      {
        ...(model !== undefined && { model: String(model) }),
        stream: stream === true,
        body: filled(call.body, details) as object,
        headers: call.headers,
        ...(call.script && { script: filled(call.script, details) as object[] }),
        ...(call.timeout !== undefined && { timeout: call.timeout }),
      },
    )
    await session.wait(Math.max(call.wait, call.cooldown ? cooldown_ms : 0))
  }
  if (call.drain) await session.drain()
}

/** Returns one entry for every combination: `{ a: [1, 2], b: [3] }` -> a 1 b 3, a 2 b 3. */
function combinations(each: Call['each'], session: CheckContext): Details[] {
  return Object.entries(each).reduce<Details[]>(
    (all, [name, values]) =>
      all.flatMap((one) =>
        [values]
          .flat()
          .flatMap((value) => idsOf(value, session))
          .map((value) => ({ ...one, [name]: value })),
      ),
    [{}],
  )
}

function idsOf(value: string | number | boolean, session: CheckContext): (string | number | boolean)[] {
  const { models } = session.target
  if (value === '{logical}') return models.logical.map(({ id }) => id)
  if (value === '{direct}') return models.direct.map(({ id }) => id)
  if (value === '{models}') return modelsOf(session)
  if (value === '{every}') return everyModel(session)
  return [value]
}

/**
 * Replaces names with their values. If a name is the whole text, its value keeps its type, such as number.
 */
function filled(value: unknown, details: Details): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, details))
  if (typeof value === 'string') {
    const alone = /^\{(\w+)\}$/.exec(value)?.[1]
    if (alone !== undefined && details[alone] !== undefined) return details[alone]
    return value.replace(/\{(\w+)\}/g, (whole, name) => String(details[name] ?? whole))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, details)]))
}
