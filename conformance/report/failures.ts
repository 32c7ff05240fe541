// What did not hold, in the order in which a reader needs it: what was expected, what was seen, which exchange shows it,
// how to reproduce it, and what to do. The page, the summary and the comment are made from this. Pure.
import { byFinding } from '../by-finding.ts'
import { sentenceOf } from '../check.ts'
import { checks } from '../checks.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { readExplanations } from '../explanations.ts'
import type { Verdict } from '../judge.ts'
import { withoutSurface } from '../on-surfaces.ts'
import type { Kept } from '../rejudge.ts'
import { CONTROL, curl, script } from './curl.ts'

const EXPLANATIONS = readExplanations()

export interface Failure {
  readonly verdict: Verdict
  readonly findings: readonly Failed[]
  /** What a person can do about it; plain sentences. */
  readonly advice: readonly string[]
  /** Lines for a shell that show it; empty where no single request does. */
  readonly again: readonly string[]
}

export interface Failed {
  readonly id: string
  /** What was looked at; null where `seen` says it. */
  readonly what: string | null
  readonly expected: string
  readonly seen: string
  readonly see: readonly string[]
  /** How many findings of this id there are beside the one that is told. */
  readonly more: number
}

const ORDER: readonly Verdict['outcome'][] = ['fail', 'untestable', 'harness-error', 'warn']

/** The worst first; within that in the order of the contract. */
export const failuresOf = ({ results, run, evidence }: Kept): Failure[] =>
  ORDER.flatMap((outcome) => results.verdicts.filter((verdict) => verdict.outcome === outcome)).map(
    (verdict) => {
      const found = evidence.get(checks.get(verdict.id)?.shares ?? verdict.id)
      const findings = failedIn(verdict)
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
  const causes = EXPLANATIONS[withoutSurface(id)]?.causes
  return [
    ...(causes ? [`What usually causes it: ${causes}`] : []),
    `Change the gateway, then run it alone: ${alone}`,
    ...(level === 'SHOULD' ? ['It is a SHOULD: it does not decide whether the gateway conforms.'] : []),
    `To accept it for now, add this to a baseline: - { id: ${finding ?? id}, reason: why, expires: YYYY-MM-DD }`,
    `If the transcript shows that the gateway is right, the check is wrong: please report it. Why it matters and how it is tested: waybill conform explain ${id}`,
  ]
}

/** Of the first finding that points at a request: that request, and what the witness must be told before it. */
function again(evidence: Evidence, findings: readonly Failed[], start: object): string[] {
  const exchange = findings
    .flatMap(({ see }) => see)
    .map((ref) => evidence.exchanges.find(({ n }) => ref === `#${n}`))
    .find((each): each is Exchange => each !== undefined)
  if (!exchange) return []
  const told = script(exchange)
  return [
    '# waybill witness --port 9410 --control-port 9411, and the gateway pointed at it as in the target file',
    ...(told === null ? [] : [told]),
    curl(exchange, start, `evidence/${evidence.check}.json`),
    ...(exchange.nonce === null ? [] : [`curl -s ${CONTROL}/ledger`]),
  ]
}
