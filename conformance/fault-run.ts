// Holds one fault against the checks that are meant to catch it, and says what of it was caught.
import { fileURLToPath } from 'node:url'
import type { Fault } from './fault.ts'
import { faults } from './faults.ts'
import type { Verdict } from './judge.ts'
import { conform } from './run.ts'
import { StartError } from './running.ts'
import { readTarget, type Target } from './target.ts'

/** A fault after its run. */
export interface FaultResult {
  readonly name: string
  readonly fault: Fault
  /** Requirement id -> the first finding that caught it. */
  readonly caught: ReadonlyMap<string, string>
  /** What should have been caught and was not: requirement id -> what came instead. */
  readonly survived: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

/** A fault whose calls reach nobody is caught by this: the run ends before its second call. */
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
  /** Other checks than those that are meant to catch it. */
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
  const survived = new Map<string, string>()
  try {
    const { results } = await conform({
      target: targetOf(name, fault),
      profile: 'waybill',
      quick: !fault.patient,
      ...(!cross && { only: fault.caughtBy }),
    })
    for (const { id, reason } of results.verdicts.filter(wasCaught)) caught.set(id, reason)
    const outcomes = new Map(results.verdicts.map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]))
    for (const id of fault.caughtBy)
      if (!caught.has(id)) survived.set(id, outcomes.get(id) ?? 'there is no such check')
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown
    // Nothing reached the witness; or it did not even start, which proves nothing.
    const unreached = /the witness saw nothing/.test(thrown.message)
    if (unreached) caught.set(UNREACHED, 'no call reached the witness, and no second one was made')
    for (const id of fault.caughtBy)
      if (!caught.has(id)) survived.set(id, `it did not run: ${thrown.message}`)
  }
  return { name, fault, caught, survived, duration: performance.now() - began }
}

/** `untestable` counts as a failure too, but here it proves nothing: the judge saw nothing of what is wrong. */
const wasCaught = ({ outcome }: Verdict): boolean => outcome === 'fail' || outcome === 'warn'
