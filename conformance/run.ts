// One run: which checks a profile asks for, who carries them out, and at the end the judge. The evidence is written as
// it is collected, so that an aborted run can still be examined.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Witness } from '../mocks/witness.ts'
import type { Check } from './check.ts'
import { checks } from './checks.ts'
import { clock } from './client.ts'
import { type Evidence, REMAINDER } from './evidence.ts'
import { judge, type Results, type RunFile } from './judge.ts'
import { placeOf, withoutSurface } from './on-surfaces.ts'
import { asked, type Profile, type Requirement, readRequirements } from './requirements.ts'
import { onSurface } from './surfaces.ts'
import { declares, type Target } from './target.ts'
import { usually } from './time-left.ts'
import { openWorker, type Worker } from './worker.ts'

/** The version of the suite. Its first number names the frozen set of requirements that decides. */
export const SUITE = '3.0'

export interface ConformOptions {
  readonly target: Target
  readonly profile?: Profile
  /** Requirement ids; all where nothing is said. */
  readonly only?: readonly string[]
  /** Requirement id -> why it is left out. */
  readonly disabled?: Readonly<Record<string, string>>
  /** Where the evidence is written; nowhere where nothing is said. */
  readonly directory?: string
  /** Idle windows last seconds instead of a minute; the run is never more than `partial`. */
  readonly quick?: boolean
  /** The command that does this run again, for the report. */
  readonly reproduce?: string
  /** Called when the witness listens, before the target is started or asked. */
  readonly onWitness?: (witness: Witness) => void | Promise<void>
  /** Hears what will be tried, and how much of it at the same time, when the target has answered its first call. */
  readonly onPlan?: (requirements: readonly Requirement[], atOnce: number) => void
  /** Hears of each check: when it begins, and when its evidence is there. */
  readonly onCheck?: (requirement: Requirement, evidence: Evidence | null) => void
}

export interface Conformed {
  readonly results: Results
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
}

/**
 * Holds a gateway to the contract. Rejects with StartError when the target cannot be started or reached, or when its
 * calls do not arrive at the witness: then one call was made, and no more.
 */
export async function conform({
  target: template,
  profile = 'core',
  only,
  disabled = {},
  directory,
  quick = false,
  reproduce = '',
  onWitness = () => {},
  onPlan = () => {},
  onCheck = () => {},
}: ConformOptions): Promise<Conformed> {
  const requirements = readRequirements()
  const startedAt = clock()
  const evidence = new Map<string, Evidence>()
  const keep = (found: Evidence): void => {
    evidence.set(found.check, found)
    if (directory !== undefined) write(join(directory, 'evidence'), `${found.check}.json`, found)
  }

  // What is to be exercised, and the first requirement that asks for it.
  const exercises = new Map<Check, Requirement>()
  for (const requirement of asked(requirements, profile, template)) {
    const check = checks.get(requirement.check!)
    const left = disabled[requirement.id] ?? disabled[withoutSurface(requirement.id)]
    const skip = !check || left !== undefined || (only && !only.includes(requirement.id))
    const place = check ? placeOf(check, template) : null
    if (skip || place === null) continue
    const there = onSurface(template, place)
    if ((check.needs ?? []).some((need) => !declares(there, need))) continue
    if (check.overRun) continue
    const source = checks.get(check.shares ?? check.id)!
    if (!exercises.has(source)) exercises.set(source, requirement)
  }

  const workers: Worker[] = []
  try {
    do {
      const first = workers.length === 0
      const worker = await openWorker({
        template,
        quick,
        preflight: first ? 'preflight' : `preflight-${workers.length + 1}`,
        onWitness: first ? onWitness : () => {},
        keep,
      })
      workers.push(worker)
    } while (workers.length < Math.min(template.instances, exercises.size))

    onPlan([...exercises.values()], workers.length)
    // Each worker takes the next check until none is left. When one breaks off, the others end with what they are at.
    // With several the longest go first, so that none is left with a long one at the end.
    const queue = [...exercises]
    if (workers.length > 1) queue.sort(([a], [b]) => usually(b.id, quick) - usually(a.id, quick))
    let stopped: string | null = null
    const work = async (worker: Worker): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [check, requirement] = next
        onCheck(requirement, null)
        const { evidence: found, gone } = await worker.run(check)
        onCheck(requirement, found)
        if (gone === null) continue
        stopped ??= `${worker.target.name} has been gone since ${requirement.id}: ${gone}`
        return
      }
    }
    const nothingMore = () => {
      queue.length = 0
    }
    const ends = await Promise.allSettled(workers.map((worker) => work(worker).finally(nothingMore)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason

    const remainders = workers.map((worker, index) =>
      worker.remainder(index === 0 ? REMAINDER : `${REMAINDER}-${index + 1}`),
    )
    for (const remainder of await Promise.all(remainders)) keep(remainder)
    const counts = await Promise.all(workers.map((worker) => worker.inferences()))
    const [first] = workers
    const run: RunFile = {
      format: 2,
      suite: SUITE,
      profile,
      target: first!.target,
      started_at: startedAt,
      ended_at: clock(),
      only: only ? [...only] : null,
      disabled: { ...disabled },
      quick,
      inferences: counts.reduce((sum, count) => sum + count, 0),
      stopped,
      environment: { node: process.version, platform: `${process.platform} ${process.arch}` },
      reproduce,
    }
    const clean: RunFile = JSON.parse(first!.redact(JSON.stringify(run)))
    const results = judge(clean, evidence, requirements)
    if (directory !== undefined) write(directory, 'run.json', clean)
    return { results, run: clean, evidence }
  } finally {
    for (const worker of workers) await worker.close()
  }
}

function write(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), `${JSON.stringify(content, null, 2)}\n`)
}
