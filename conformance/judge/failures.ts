// Data of failures in the order in which a reader needs it: expected and actual values, the exchange, the
// commands that reproduce it, and the remedy. Source of the page, the summary and the comment. Pure.

import { sentenceOf } from '../checks/check.ts'
import { checks } from '../checks/registry.ts'
import { readRequirements, withoutDialect } from '../checks/requirements.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { byFinding } from './compare.ts'
import type { Verdict } from './judge.ts'
import type { KeptRun } from './rejudge.ts'
import { CONTROL, curl, scriptCommand } from './text.ts'

const CAUSES = new Map(readRequirements().requirements.map(({ id, causes }) => [id, causes]))

export interface FailureText {
  readonly verdict: Verdict
  readonly findings: readonly Failed[]
  /** Remedies in plain sentences. */
  readonly advice: readonly string[]
  /** Shell lines that reproduce the failure; empty if no single request does. */
  readonly again: readonly string[]
}

interface Failed {
  readonly id: string
  /** Subject of the finding; null if `seen` includes the subject. */
  readonly what: string | null
  readonly expected: string
  readonly seen: string
  readonly see: readonly string[]
  /** Number of other findings with this id, which are not shown. */
  readonly more: number
}

const ORDER: readonly Verdict['outcome'][] = ['fail', 'untestable', 'harness-error', 'warn']

/** Returns the failures, worst first, then in the order of the contract. */
export const failuresOf = ({ results, run, evidence }: KeptRun): FailureText[] =>
  ORDER.flatMap((outcome) => results.verdicts.filter((verdict) => verdict.outcome === outcome)).map(
    (verdict) => {
      const findings = failedIn(verdict)
      // A finding over the whole run names the check of its exchange.
      const [elsewhere] = findings.flatMap(({ see }) => see).filter((ref) => /^[A-Z]+-\d\d.*#/.test(ref))
      const found = evidence.get(elsewhere?.split('#')[0] ?? checks.get(verdict.id)?.shares ?? verdict.id)
      return {
        verdict,
        findings,
        advice: adviceFor(verdict, findings[0]?.id, results.reproduce),
        again: found ? again(found, findings, run.target.start) : [],
      }
    },
  )

function failedIn(verdict: Verdict): Failed[] {
  const failed = byFinding(verdict).filter(({ state }) => state !== 'holds')
  const sure = failed.filter(({ state }) => state === 'fails')
  return (sure.length > 0 ? sure : failed).map(({ id, findings }) => {
    const bad = findings.filter(({ ok }) => !ok)
    const { what, expected, actual, see = [] } = bad[0]!
    const told = expected !== undefined && actual !== undefined
    return {
      id,
      what: told ? what : null,
      expected: expected ?? verdict.text,
      seen: told ? actual : sentenceOf(bad[0]!),
      see,
      more: bad.length - 1,
    }
  })
}

function adviceFor(
  { id, outcome, level }: Verdict,
  finding: string | undefined,
  reproduce: string,
): string[] {
  const alone = `${reproduce.replace(/ --only( [A-Z]+-\d\d)+/, '')} --only ${id}`
  if (outcome === 'harness-error')
    return [
      `The suite itself failed here, so this says nothing about the gateway. Please report it with evidence/${id}.json.`,
    ]
  if (outcome === 'untestable')
    return [
      'The target file declares this, but it could not be tried, so it counts as a failure. Make it possible, or remove the declaration from the target file.',
      `Run it alone: ${alone}`,
    ]
  const causes = CAUSES.get(withoutDialect(id))
  return [
    ...(causes ? [`What usually causes it: ${causes}`] : []),
    `Change the gateway, then run it alone: ${alone}`,
    ...(level === 'SHOULD' ? ['It is a SHOULD: it does not decide whether the gateway conforms.'] : []),
    `To accept it for now, add this to a baseline: - { id: ${finding ?? id}, reason: why, expires: YYYY-MM-DD }`,
    `If the transcript shows that the gateway is right, the check is wrong: please report it. Why it matters and how it is tested: waybill conform explain ${id}`,
  ]
}

/** Returns the commands for the first finding with a request: the mock's script, then the request. */
function again(evidence: Evidence, findings: readonly Failed[], start: object): string[] {
  const exchange = findings
    .flatMap(({ see }) => see)
    .map((ref) => evidence.exchanges.find(({ n }) => ref === `#${n}` || ref === `${evidence.check}#${n}`))
    .find((each): each is Exchange => each !== undefined)
  if (!exchange) return []
  const told = scriptCommand(exchange)
  return [
    '# waybill mock --port 9410 --control-port 9411, and the gateway pointed at it as in the target file',
    ...(told === null ? [] : [told]),
    curl(exchange, start, `evidence/${evidence.check}.json`),
    ...(exchange.nonce === null ? [] : [`curl -s ${CONTROL}/ledger`]),
  ]
}
