// Holds one mutant against the checks that are meant to catch it, and says what of it was caught.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Verdict } from './judge.ts'
import type { Mutant } from './mutant.ts'
import { conform } from './run.ts'
import { StartError } from './running.ts'
import { readTarget, type Target } from './target.ts'

/** A mutant after its run. */
export interface Death {
  readonly name: string
  readonly mutant: Mutant
  /** Requirement id -> the first finding that caught it. */
  readonly caught: ReadonlyMap<string, string>
  /** What should have been caught and was not: requirement id -> what came instead. */
  readonly survived: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly duration: number
}

/** The mutant whose calls reach nobody dies of this: the run ends before its second call. */
const UNREACHED = 'SUITE-01'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const RUN = '{{project}}/conformance/mutant-command.ts'

/** The names of all mutants. */
export const mutantNames = (): string[] =>
  readdirSync(here('./mutants/'))
    .map((file) => file.replace(/\.ts$/, ''))
    .sort()

export const loadMutant = async (name: string): Promise<Mutant> =>
  (await import(`./mutants/${name}.ts`)).mutant

/** The reference target with a mutant in its place. */
export function targetOf(name: string, { asCommand = false }: Mutant): Target {
  const target = readTarget(here('./targets/waybill.inproc.yaml'))
  const command = ['{{node}}', '--import', '{{project}}/node_modules/tsx/dist/loader.mjs', RUN, name]
  const start = asCommand ? { command } : { inproc: `mutants/${name}` }
  // Some mutants lend a key to those who have none.
  return { ...target, name, start, env: { ...target.env, ADMIN_KEY: '{{key.admin}}' } }
}

export interface KillOptions {
  /** Against all checks, not only those that are meant to catch it. */
  readonly cross?: boolean
  /** Other checks than those that are meant to catch it. */
  readonly kills?: readonly string[]
}

/** Runs a mutant against the checks that are meant to catch it. */
export async function kill(name: string, { cross = false, ...other }: KillOptions = {}): Promise<Death> {
  const mutant = { ...(await loadMutant(name)), ...other }
  const began = performance.now()
  const caught = new Map<string, string>()
  const survived = new Map<string, string>()
  try {
    const { results } = await conform({
      target: targetOf(name, mutant),
      profile: 'waybill',
      ...(!cross && { only: mutant.kills }),
    })
    for (const { id, reason } of results.verdicts.filter(wasCaught)) caught.set(id, reason)
    const outcomes = new Map(results.verdicts.map(({ id, outcome, reason }) => [id, `${outcome}: ${reason}`]))
    for (const id of mutant.kills)
      if (!caught.has(id)) survived.set(id, outcomes.get(id) ?? 'there is no such check')
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown
    // Nothing reached the witness; or it did not even start, which proves nothing.
    const unreached = /the witness saw nothing/.test(thrown.message)
    if (unreached) caught.set(UNREACHED, 'no call reached the witness, and no second one was made')
    for (const id of mutant.kills) if (!caught.has(id)) survived.set(id, `it did not run: ${thrown.message}`)
  }
  return { name, mutant, caught, survived, duration: performance.now() - began }
}

/** `untestable` counts as a failure too, but here it proves nothing: the judge saw nothing of what is wrong. */
const wasCaught = ({ outcome }: Verdict): boolean => outcome === 'fail' || outcome === 'warn'
