// Turns evidence into verdicts. Pure: called at the end of a run, and by `judge DIR` on stored evidence.
import { z } from 'zod'
import { doubt, type Finding, sentenceOf } from '../checks/check.ts'
import { checks } from '../checks/registry.ts'
import {
  decidingIn,
  dialectFor,
  levelOf,
  PROFILES,
  type Requirement,
  type Requirements,
  requirementsFor,
  SCOPES,
  withoutDialect,
} from '../checks/requirements.ts'
import { inDialect, isCrossed, requestsOf } from '../dialects/lookup.ts'
import { type Evidence, REMAINDER } from '../evidence/evidence.ts'
import { declares, targetSchema } from '../target/schema.ts'
import { answerIn, causesOf, type Suspect } from './causes.ts'

const setName = z.string().regex(/^\d+\.0$/)

const spending = z.strictObject({ calls: z.int(), output_tokens: z.int(), input_bytes: z.int() })

/** Facts of a run that `run.json` stores in addition to the evidence of the checks. */
export const runSchema = z.strictObject({
  format: z.literal(
    2,
    'it was written by another version of the suite; repeat the run, or judge it with that version',
  ),
  suite: z.string(),
  /** Set of requirements that decides; default: the suite's set. */
  set: setName.optional(),
  profile: z.enum(PROFILES),
  /** Target file as used, with values filled in, without secrets. */
  target: targetSchema,
  started_at: z.number(),
  ended_at: z.number(),
  /** Requirement ids to which the user limited the run; null for all. */
  only: z.array(z.string()).nullable(),
  /** Ids of requirements that the user left out, with the reason. */
  disabled: z.record(z.string(), z.string()),
  /** True if idle windows were short. */
  quick: z.boolean().default(false),
  /** Inferences that the mock received from its start to its end. */
  inferences: z.int(),
  /** Spending of a run without a mock: announced, sent, and reported by the target's answers. */
  live: z
    .strictObject({
      announced: spending,
      made: spending,
      reported: z.strictObject({ input_tokens: z.int(), output_tokens: z.int() }),
    })
    .nullable()
    .default(null),
  /** Reason why the run stopped early, or null. */
  stopped: z.string().nullable(),
  environment: z.record(z.string(), z.string()),
  /** Command that repeats this run. */
  reproduce: z.string(),
})
export type RunFile = z.output<typeof runSchema>

export const OUTCOMES = [
  'pass',
  'fail',
  'warn',
  'not-applicable',
  'untestable',
  'harness-error',
  'disabled',
] as const
export type Outcome = (typeof OUTCOMES)[number]

const verdict = z.strictObject({
  id: z.string(),
  slug: z.string(),
  level: z.enum(['MUST', 'SHOULD']),
  scope: z.enum(SCOPES),
  text: z.string().describe('The sentence of the contract.'),
  outcome: z.enum(OUTCOMES),
  scored: z
    .boolean()
    .describe('True if the verdict counts, because its requirement belongs to the set of this run.'),
  not_scored: z.string().optional().describe('Reason why the verdict does not count.'),
  reason: z.string().describe('One sentence; for a pass, the extent of the check.'),
  findings: z.array(
    z.strictObject({
      id: z
        .string()
        .describe(
          'Id of the finding, such as `KEEP-01/no-secret-in-answers`; it has the same meaning in every run.',
        ),
      ok: z.boolean(),
      doubt: z
        .boolean()
        .optional()
        .describe('True if the finding is not ok, but it cannot be shown that the target is to blame.'),
      absent: z
        .boolean()
        .optional()
        .describe(
          'True if the finding is not ok because the target says that it does not offer the feature.',
        ),
      advice: z
        .boolean()
        .optional()
        .describe('True for a SHOULD within a MUST: a failed finding is then a warning, except for Waybill.'),
      what: z.string(),
      expected: z.string().optional(),
      actual: z.string().optional(),
      see: z
        .array(z.string())
        .readonly()
        .optional()
        .describe('Evidence: exchanges (#3) and ledger entries (@7).'),
    }),
  ),
  inferences: z.int().describe('Inferences that the check caused.'),
  duration: z.int().describe('Milliseconds.'),
})
export type Verdict = z.output<typeof verdict>

/**
 * Conclusion of a run. `conformant`: every applicable MUST was tried and passed. `partial`: no MUST failed,
 * but some MUSTs were not tried. `error`: the run did not finish.
 */
const CONCLUSIONS = ['conformant', 'partial', 'not conformant', 'error'] as const
export type Conclusion = (typeof CONCLUSIONS)[number]

/** Results of a run: `results.json`. Its JSON Schema is shipped as docs/results.schema.json. */
export const resultsSchema = z.strictObject({
  suite: z.string(),
  set: z.string().describe('The frozen set of requirements that decided.'),
  profile: z.enum(PROFILES),
  target: z.strictObject({ name: z.string(), version: z.string().nullable(), sealed: z.boolean() }),
  started_at: z.iso.datetime(),
  duration: z.int().describe('Milliseconds.'),
  conclusion: z.enum(CONCLUSIONS),
  reason: z.string(),
  counts: z.record(z.enum(OUTCOMES), z.int()),
  inferences: z
    .strictObject({ total: z.int(), accounted: z.int() })
    .describe('Number of calls of the run, and the part of them that is attributed to a check.'),
  live: runSchema.shape.live.describe('For a run without a mock: the announced, sent and reported amounts.'),
  causes: z
    .array(
      z.strictObject({
        what: z.string(),
        verdicts: z.array(z.string()).readonly().describe('Requirements that failed for this reason.'),
      }),
    )
    .describe(
      'Causes that several failures share, such as a 500 for each streamed call; the most frequent first.',
    ),
  verdicts: z.array(verdict),
  environment: z.record(z.string(), z.string()),
  reproduce: z.string().describe('The command that repeats this run.'),
})
export type Results = z.output<typeof resultsSchema>

const setOf = ({ set, suite }: RunFile): string => set ?? `${Number.parseInt(suite, 10)}.0`

/** Judges a whole run. `evidence` by check id; checks without evidence were not tried. */
export function judge(
  run: RunFile,
  evidence: ReadonlyMap<string, Evidence>,
  requirements: Requirements,
): Results {
  const set = setOf(run)
  const scored = decidingIn(requirements, run.profile, set)
  const verdicts = requirementsFor(requirements, run.profile, run.target).map((requirement) =>
    verdictOf(requirement, run, evidence, scored.has(withoutDialect(requirement.id))),
  )
  const counts = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, verdicts.filter((each) => each.outcome === outcome).length]),
  ) as Record<Outcome, number>
  const accounted = [...evidence.values()]
    .filter(({ check }) => !check.startsWith(REMAINDER))
    .reduce((sum, each) => sum + inferencesIn(each), 0)
  const causes = causesOf(suspectsAmong(verdicts, evidence), evidence.values())
  const { conclusion, reason } = conclude(run, verdicts)
  return {
    suite: run.suite,
    set,
    profile: run.profile,
    target: { name: run.target.name, version: run.target.version ?? null, sealed: run.target.sealed },
    started_at: new Date(run.started_at).toISOString(),
    duration: Math.round(run.ended_at - run.started_at),
    conclusion,
    reason,
    counts,
    inferences: { total: run.inferences, accounted },
    live: run.live,
    causes,
    verdicts,
    environment: run.environment,
    reproduce: run.reproduce,
  }
}

/** Returns the failed verdicts with their evidence. */
function suspectsAmong(verdicts: readonly Verdict[], all: ReadonlyMap<string, Evidence>): Suspect[] {
  return verdicts
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'warn' || outcome === 'untestable')
    .flatMap(({ id, findings }) => {
      const evidence = all.get(checks.get(id)?.shares ?? id)
      const see = findings.filter(({ ok }) => !ok).flatMap(({ see = [] }) => see)
      return evidence ? [{ id, see, evidence }] : []
    })
}

/**
 * Adds the answer to its call to a failed finding, if this answer was an error and the finding does not
 * mention it.
 */
function withAnswer(found: Finding, { exchanges }: Evidence): Finding {
  if (found.ok) return found
  const ref = found.see?.find((each) => each.startsWith('#'))
  const exchange = exchanges.find(({ n }) => ref === `#${n}`)
  if (!exchange || (exchange.status !== null && exchange.status < 300)) return found
  const said = exchange.status === null ? exchange.error : String(exchange.status)
  const { what, actual } = found
  if (said === null || (actual ?? what).includes(said)) return found
  const answered = `; ${ref} was answered with ${answerIn(exchange)}`
  return actual === undefined ? { ...found, what: what + answered } : { ...found, actual: actual + answered }
}

function verdictOf(
  requirement: Requirement,
  run: RunFile,
  all: ReadonlyMap<string, Evidence>,
  scored: boolean,
): Verdict {
  const { id, slug, scope, text, check: name } = requirement
  const check = checks.get(name!)
  const evidence = all.get(check?.overRun ? REMAINDER : (check?.shares ?? name!)) ?? null
  const level = levelOf(requirement, run.profile)
  const said = (outcome: Outcome, reason: string, findings: Finding[] = []): Verdict => ({
    id,
    slug,
    level,
    scope,
    text,
    outcome,
    scored,
    ...(!scored && { not_scored: `set ${setOf(run)} was frozen without it` }),
    reason,
    findings: findings.map((each) => ({ ...each, id: `${id}/${each.id}` })),
    inferences: evidence && !check?.shares && !check?.overRun ? inferencesIn(evidence) : 0,
    duration: evidence ? Math.round(evidence.ended_at - evidence.started_at) : 0,
  })
  if (!check) return said('harness-error', `there is no check ${name}`)
  const left = run.disabled[id] ?? run.disabled[withoutDialect(id)]
  if (left !== undefined) return said('disabled', left)
  if (run.only && !run.only.includes(id)) return said('disabled', 'not among the requested ones')
  const place = dialectFor(check, run.target)
  if (place === null) return said('not-applicable', 'the target file says that chat is not served')
  const target = inDialect(run.target, place)
  const missing = (check.needs ?? []).filter((need) => !declares(target, need))
  if (missing.length > 0)
    return said('not-applicable', `the target file does not declare ${missing.join(', ')}`)
  if (check.since !== undefined && Number.parseInt(run.suite, 10) < check.since)
    return said(
      'not-applicable',
      `not asked in this evidence: suite ${run.suite} made it, and the check is of suite ${check.since}.0`,
    )
  if (!evidence && !scored && !run.stopped)
    return said('not-applicable', 'not asked in this evidence: it was made before this check')
  if (!evidence) return said('harness-error', run.stopped ?? 'the check was not run')
  if (evidence.harness_error !== null) return said('harness-error', evidence.harness_error.split('\n')[0]!)
  if (evidence.untestable !== null) {
    const [last] = evidence.exchanges.filter(({ nonce, end }) => nonce !== null && end !== 'left').slice(-1)
    const why = last && withAnswer(doubt('', evidence.untestable, [`#${last.n}`]), evidence)
    return said('untestable', why?.what ?? evidence.untestable)
  }
  if (check.relays && !relayed(evidence))
    return said('not-applicable', 'it translates: no provider was asked in the dialect of the client')
  let findings: Finding[]
  try {
    findings = check.judge({ evidence, all, target, waybill: run.profile === 'waybill' })
  } catch (thrown) {
    return said('harness-error', `the judge failed: ${(thrown as Error).message}`)
  }
  if (findings.length === 0) return said('harness-error', 'the judge found nothing to judge')
  findings = findings.map((each) => withAnswer(each, evidence))
  const isAdvice = ({ advice = false }: Finding) => advice && run.profile !== 'waybill'
  const bad = findings.find((each) => !each.ok && !each.doubt && !each.absent && !isAdvice(each))
  if (bad) return said(level === 'MUST' ? 'fail' : 'warn', sentenceOf(bad), findings)
  // The gateway did nothing wrong before it ended, and later requests prove nothing.
  if (typeof evidence.facts.gone === 'string')
    return said('untestable', `it did not survive the check: ${evidence.facts.gone}`, findings)
  const missingHere = findings.find(({ absent }) => absent)
  if (missingHere) return said('not-applicable', sentenceOf(missingHere), findings)
  const open = findings.find(({ doubt }) => doubt)
  if (open) return said('untestable', sentenceOf(open), findings)
  const advised = findings.find(({ ok }) => !ok)
  if (advised) return said('warn', sentenceOf(advised), findings)
  return said('pass', `${findings.length} of ${findings.length} findings hold`, findings)
}

/** Maximum number of ids that are listed. */
const MAX_LISTED_IDS = 8

/** Formats counts by subject: `10 of FLOW, 3 of LOG`. */
const bySubject = (some: readonly Verdict[]): string =>
  [...Map.groupBy(some, ({ id }) => id.split('-')[0]!)]
    .map(([subject, those]) => `${those.length} of ${subject}`)
    .join(', ')

/** Returns true if the check could be judged: `untestable` counts as a failure elsewhere, but proves nothing. */
export const wasJudged = ({ outcome }: Verdict): boolean =>
  outcome === 'pass' || outcome === 'fail' || outcome === 'warn'

function conclude(run: RunFile, verdicts: readonly Verdict[]): { conclusion: Conclusion; reason: string } {
  const scored = verdicts.filter((each) => each.scored && each.level === 'MUST')
  const failed = scored.filter(({ outcome }) => outcome === 'fail' || outcome === 'untestable')
  const broken = verdicts.filter(({ outcome }) => outcome === 'harness-error')
  const tried = verdicts.filter(wasJudged)
  const ids = (some: readonly Verdict[]) =>
    some.length > MAX_LISTED_IDS ? bySubject(some) : some.map(({ id }) => id).join(', ')
  if (run.stopped !== null) return { conclusion: 'error', reason: run.stopped }
  if (tried.length === 0) return { conclusion: 'error', reason: 'no check was run' }
  if (broken.length > 0) return { conclusion: 'error', reason: `the suite itself failed in ${ids(broken)}` }
  if (failed.length > 0)
    return { conclusion: 'not conformant', reason: `${failed.length} failed: ${ids(failed)}` }
  if (run.quick) return { conclusion: 'partial', reason: 'none failed; --quick: the idle windows were short' }
  const left = scored.filter(({ outcome }) => outcome === 'disabled')
  const leftOut = left.length > 5 ? `${left.length} requirements` : ids(left)
  if (left.length > 0) return { conclusion: 'partial', reason: `none failed; not tried: ${leftOut}` }
  return { conclusion: 'conformant', reason: `every applicable MUST of profile ${run.profile} holds` }
}

/** Returns true if a call of the check reached a provider in the client's dialect. */
const relayed = (evidence: Evidence): boolean =>
  evidence.exchanges.some((exchange) =>
    requestsOf(evidence, exchange).some((entry) => !isCrossed(exchange, entry)),
  )

const inferencesIn = ({ ledger }: Evidence): number =>
  ledger.filter(({ kind }) => kind === 'inference').length
