// Compares two runs and lists improvements and regressions. The same judges judge both runs, so that
// differences are due to the gateway, not to the suite. Pure.
import { byFinding } from './baseline.ts'
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
