// Runs the checks that are meant to catch one fault, and reports which of them caught it.
import { fileURLToPath } from 'node:url'
import { byFinding } from './by-finding.ts'
import { sentenceOf } from './check.ts'
import type { Fault } from './fault.ts'
import { faults } from './faults.ts'
import type { Verdict } from './judge.ts'
import { readTarget } from './read-target.ts'
import { conform } from './run.ts'
import { StartError } from './running.ts'
import type { Target } from './target.ts'

/** A fault after its run. */
export interface FaultResult {
  readonly name: string
  readonly fault: Fault
  /** What it made false: finding -> the first sentence. */
  readonly caught: ReadonlyMap<string, string>
  /** All findings that were judged. */
  readonly judged: ReadonlySet<string>
  /** Those of `caughtBy` that did not catch it -> what came instead. */
  readonly survived: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

/** A fault whose calls do not reach the witness is caught by this: the run ends before its second call. */
const UNREACHED = 'SUITE-01'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const RUN = '{{project}}/conformance/fault-command.ts'

/** The reference target with a fault in it. */
export function targetOf(name: string, { asCommand = false }: Pick<Fault, 'asCommand'> = {}): Target {
  const target = readTarget(here('./targets/waybill.inproc.yaml'))
  const command = ['{{node}}', '--import', '{{project}}/node_modules/tsx/dist/loader.mjs', RUN, name]
  const start = asCommand ? { command } : { inproc: `fault-gateway#${name}` }
  // Some faults give a key to those who have none.
  return { ...target, name, start, env: { ...target.env, ADMIN_KEY: '{{key.admin}}' } }
}

export interface TryOptions {
  /** Against all checks, not only those that are meant to catch it. */
  readonly cross?: boolean
  /** Other checks or findings than those that are meant to catch it. */
  readonly caughtBy?: readonly string[]
}

/** Runs a fault against the checks that are meant to catch it. */
export async function tryFault(
  name: string,
  { cross = false, ...other }: TryOptions = {},
): Promise<FaultResult> {
  const fault = { ...faults.get(name)!, ...other }
  const began = performance.now()
  const caught = new Map<string, string>()
  const judged = new Set<string>()
  const survived = new Map<string, string>()
  const done = () => ({ name, fault, caught, judged, survived, duration: performance.now() - began })
  try {
    const { results } = await conform({
      target: targetOf(name, fault),
      profile: 'waybill',
      quick: !fault.patient,
      ...(!cross && { only: fault.caughtBy.map(requirementOf) }),
    })
    for (const verdict of results.verdicts.filter(wasJudged))
      for (const { id, state, findings } of byFinding(verdict)) {
        judged.add(id)
        const bad = findings.find(({ ok, doubt }) => !ok && !doubt)
        if (state === 'fails') caught.set(id, sentenceOf(bad!))
      }
    const verdicts = new Map(results.verdicts.map((each) => [each.id, each]))
    for (const id of fault.caughtBy.filter((each) => !isCaught(caught, each))) {
      const verdict = verdicts.get(requirementOf(id))
      survived.set(id, verdict ? `${verdict.outcome}: ${verdict.reason}` : 'there is no such check')
    }
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown
    // Nothing reached the witness; or it did not even start, which proves nothing.
    const unreached = /the witness did not see the call/.test(thrown.message)
    if (unreached) caught.set(UNREACHED, 'no call reached the witness, and no second one was made')
    for (const id of fault.caughtBy)
      if (!caught.has(id)) survived.set(id, `it did not run: ${thrown.message}`)
  }
  return done()
}

/** Whether a requirement, or one finding of it, is among what a fault made false. */
export const isCaught = (caught: FaultResult['caught'], id: string): boolean =>
  [...caught.keys()].some((each) => each === id || requirementOf(each) === id)

export const requirementOf = (id: string): string => id.split('/')[0]!

/** `untestable` counts as a failure too, but here it proves nothing: the judge saw nothing of what is wrong. */
const wasJudged = ({ outcome }: Verdict): boolean =>
  outcome === 'pass' || outcome === 'fail' || outcome === 'warn'
