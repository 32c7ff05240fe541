// Compares a run with an earlier one, and lists improvements and regressions; the same judges judge both, so that
// differences are due to the gateway. Compares it also with the baseline: the failures that a project knows and has not
// fixed yet, which do not fail a run. Each has a reason and an end date. An entry that is no longer needed is an error,
// so that the list can only get shorter.
import { parse } from 'yaml'
import { z } from 'zod'
import { readBounded } from '../../src/shared/bounded.ts'
import { fileReason } from '../../src/terminal/file-error.ts'
import { readRequirements, withoutDialect } from '../checks/requirements.ts'
import type { Outcome, Results, Verdict } from './judge.ts'

/** Requirement, or a finding of a requirement that failed before and fails now. */
export interface Change {
  readonly id: string
  readonly was: string
  readonly is: string
}

export interface Comparison {
  readonly earlier: Pick<Results, 'started_at' | 'conclusion'>
  readonly better: readonly Change[]
  readonly worse: readonly Change[]
}

/** Severity of an outcome; null for requirements that were not tried. */
const BADNESS: Readonly<Record<Outcome, number | null>> = {
  pass: 0,
  warn: 1,
  untestable: 2,
  fail: 3,
  'harness-error': null,
  'not-applicable': null,
  disabled: null,
}

export function compare(earlier: Results, now: Results): Comparison {
  const better: Change[] = []
  const worse: Change[] = []
  const before = new Map(earlier.verdicts.map((verdict) => [verdict.id, verdict]))
  for (const verdict of now.verdicts) {
    const old = before.get(verdict.id)
    const [was, is] = [old && BADNESS[old.outcome], BADNESS[verdict.outcome]]
    if (!old || was == null || is === null) continue
    if (was !== is)
      (is < was ? better : worse).push({ id: verdict.id, was: old.outcome, is: verdict.outcome })
    else if (is > 0) {
      const [failed, fails] = [failing(old), failing(verdict)]
      better.push(
        ...changes(
          [...failed].filter((id) => !fails.has(id)),
          'failed',
          'does not fail',
        ),
      )
      worse.push(
        ...changes(
          [...fails].filter((id) => !failed.has(id)),
          'did not fail',
          'fails',
        ),
      )
    }
  }
  return { earlier, better, worse }
}

const failing = (verdict: Verdict): ReadonlySet<string> =>
  new Set(
    byFinding(verdict)
      .filter(({ state }) => state === 'fails')
      .map(({ id }) => id),
  )

const changes = (ids: readonly string[], was: string, is: string): Change[] =>
  ids.map((id) => ({ id, was, is }))

/** Formats a comparison: `better: FLOW-06 (fail, now pass); worse: none`. */
export function comparisonText({ better, worse }: Comparison): string {
  const said = (all: readonly Change[]) =>
    all.map(({ id, was, is }) => `${id} (${was}, now ${is})`).join(', ')
  return `better: ${said(better) || 'nothing'}; worse: ${said(worse) || 'nothing'}`
}

const schema = z.array(
  z.strictObject({
    /**
     * Requirement such as `KEEP-01`, or one of its findings, such as `KEEP-01/no-secret-in-answers`. Other
     * findings of the requirement then still fail.
     */
    id: z.string(),
    reason: z.string().min(1),
    link: z.url().optional(),
    /** Last day on which the entry is valid. */
    expires: z.iso.date().optional(),
  }),
)
export type Baseline = z.output<typeof schema>

/** Error about a baseline that cannot be read, with a line for each problem. */
export class BaselineError extends Error {
  override readonly name = 'BaselineError'
}

/** Maximum bytes of a baseline. */
const MAX_BYTES = 2 ** 19

export function readBaseline(file: string): Baseline {
  let raw: unknown
  try {
    raw = parse(readBounded(file, MAX_BYTES).toString('utf8'))
  } catch (cause) {
    throw new BaselineError(`${file}: ${fileReason(cause)}`, { cause })
  }
  const parsed = schema.safeParse(raw ?? [])
  if (!parsed.success)
    throw new BaselineError(
      parsed.error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`).join('\n'),
    )
  const known = new Set(readRequirements().requirements.map(({ id }) => id))
  const unknown = parsed.data.filter(({ id }) => !known.has(withoutDialect(requirementOf(id))))
  if (unknown.length > 0)
    throw new BaselineError(`${file}: no such requirement: ${unknown.map(({ id }) => id).join(', ')}`)
  return parsed.data
}

interface Compared {
  /** Ids of scored failures that are not fully excused. */
  readonly failed: readonly string[]
  /** Entries that excuse a failure. */
  readonly known: readonly string[]
  /** Entries that have expired, or that name a requirement or finding that does not fail. */
  readonly stale: readonly string[]
}

/** Compares a run with a baseline; `today` as `2026-11-21`. */
export function compareWithBaseline({ verdicts }: Results, baseline: Baseline, today: string): Compared {
  const failing = verdicts.filter(
    ({ scored, level, outcome }) =>
      scored && level === 'MUST' && (outcome === 'fail' || outcome === 'untestable'),
  )
  const over = baseline.filter(({ expires }) => expires !== undefined && expires < today).map(({ id }) => id)
  const ids = baseline.map(({ id }) => id)
  const valid = new Set(ids.filter((id) => !over.includes(id)))
  const bad = new Set(failing.flatMap((verdict) => [verdict.id, ...failuresOf(verdict)]))
  const excused = (verdict: Verdict): boolean => {
    const those = failuresOf(verdict)
    return valid.has(verdict.id) || (those.length > 0 && those.every((id) => valid.has(id)))
  }
  const tried = new Set(verdicts.filter(({ outcome }) => outcome !== 'disabled').map(({ id }) => id))
  return {
    failed: failing.filter((verdict) => !excused(verdict)).map(({ id }) => id),
    known: ids.filter((id) => valid.has(id) && bad.has(id)),
    stale: ids.filter((id) => over.includes(id) || (tried.has(requirementOf(id)) && !bad.has(id))),
  }
}

/** Returns the failed findings of a verdict, possibly none. */
const failuresOf = (verdict: Verdict): string[] =>
  byFinding(verdict)
    .filter(({ state }) => state === (verdict.outcome === 'fail' ? 'fails' : 'open'))
    .map(({ id }) => id)

const requirementOf = (id: string): string => id.split('/')[0]!

interface Answered {
  /** Such as `KEEP-01/no-secret-in-answers`. */
  readonly id: string
  /** `open`: the target cannot be shown to be at fault. */
  readonly state: 'holds' | 'fails' | 'open'
  readonly findings: Verdict['findings']
}

/** Returns the groups in order of their first finding. */
export function byFinding({ findings }: Pick<Verdict, 'findings'>): Answered[] {
  return [...Map.groupBy(findings, ({ id }) => id)].map(([id, those]) => {
    const failed = those.some(({ ok, doubt }) => !ok && !doubt)
    return { id, state: failed ? 'fails' : those.every(({ ok }) => ok) ? 'holds' : 'open', findings: those }
  })
}
