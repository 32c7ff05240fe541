// One run: selects the checks of a profile, carries them out, and judges at the end. Evidence is written as
// it is collected, so that an aborted run can still be examined.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MockProviders } from '../mocks/server/create.ts'
import { checks } from './checks/registry.ts'
import { inDialect } from './dialects/registry.ts'
import { type Evidence, REMAINDER } from './evidence/evidence.ts'
import { clock } from './evidence/http-client.ts'
import { judge, type Results, type RunFile } from './judge/judge.ts'
import { dialectFor, requirementsFor, withoutDialect } from './requirements/applicability.ts'
import {
  type Profile,
  type Requirement,
  type Requirements,
  readRequirements,
} from './requirements/requirements.ts'
import { MAX_RUN_MS, openBounds } from './runner/bounds.ts'
import type { Check } from './runner/check.ts'
import { type GatewayPace, usually } from './runner/eta.ts'
import { openWorker, type Worker } from './runner/worker.ts'
import { declares, type Target } from './target/schema.ts'

/** Version of the suite. Its major version selects the frozen set of requirements that decides. */
export const SUITE = '4.0'

export interface ConformOptions {
  readonly target: Target
  readonly profile?: Profile
  /** Requirement ids; default all. */
  readonly only?: readonly string[]
  /** Requirement id -> reason for leaving it out. */
  readonly disabled?: Readonly<Record<string, string>>
  /** Directory for the evidence; not written if absent. */
  readonly directory?: string
  /** Shortens idle windows from a minute to seconds; the run is at most `partial`. */
  readonly quick?: boolean
  /** Maximum duration of the run, ms. */
  readonly timeLimit?: number
  /** Command that repeats this run, for the report. */
  readonly reproduce?: string
  /** Called when the mock listens, before the target is started or called. */
  readonly onMock?: (mock: MockProviders) => void | Promise<void>
  /**
   * Called with the requirements to try, and how many at a time, once the target has answered its first call.
   */
  readonly onPlan?: (requirements: readonly Requirement[], atOnce: number, pace: GatewayPace) => void
  /** Called when a check begins, and again with its evidence. */
  readonly onCheck?: (requirement: Requirement, evidence: Evidence | null) => void
}

export interface Conformed {
  readonly results: Results
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
}

/**
 * Tests a gateway against the contract. Rejects with StartError if the target cannot be started or reached,
 * or if its calls do not arrive at the mock: then a single call was made.
 */
export async function conform({
  target: template,
  profile = 'core',
  only,
  disabled = {},
  directory,
  quick = false,
  timeLimit = MAX_RUN_MS,
  reproduce = '',
  onMock = () => {},
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

  const exercises = exercisesOf(requirements, { target: template, profile, only, disabled })
  const workers: Worker[] = []
  const bounds = openBounds(template.name)
  const ending = new AbortController()
  let stopped: string | null = null
  const stop = (reason: string): void => {
    stopped ??= reason
    ending.abort()
  }
  const clockwork = setTimeout(
    () => stop(`the run took longer than ${timeLimit / 60_000} min, its limit; --time-limit sets another`),
    timeLimit,
  )
  try {
    const settings = { template, quick, keep, signal: ending.signal }
    await openWorkers(workers, Math.min(template.instances, exercises.size), settings, onMock)

    if (exercises.size > FEW_CHECKS) await workers[0]!.run(secondCall)
    const pace = paceOf(template, evidence)
    onPlan([...exercises.values()], workers.length, pace)
    // Each worker takes the next check until none is left. If one breaks off, the others finish their current
    // check. Several workers begin with the longest checks, so that no long one is left at the end.
    const queue = [...exercises]
    if (workers.length > 1) queue.sort(([a], [b]) => usually(b.id, quick, pace) - usually(a.id, quick, pace))
    const work = async (worker: Worker): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [check, requirement] = next
        onCheck(requirement, null)
        const { evidence: found, gone } = await worker.run(check)
        onCheck(requirement, found)
        const excess = bounds.exceeded(found)
        if (excess !== null) stop(excess)
        if (ending.signal.aborted) return
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
    const asked = { profile, only, disabled, quick, reproduce }
    const run = await describeRun(workers, asked, startedAt, stopped)
    const results = judge(run, evidence, requirements)
    if (directory !== undefined) write(directory, 'run.json', run)
    return { results, run, evidence }
  } finally {
    clearTimeout(clockwork)
    for (const worker of workers) await worker.close()
  }
}

/** Returns the checks to be exercised, each with the first requirement that asks for it. */
function exercisesOf(
  requirements: Requirements,
  {
    target: template,
    profile,
    only,
    disabled,
  }: Required<Pick<ConformOptions, 'target' | 'profile' | 'disabled'>> & {
    readonly only: readonly string[] | undefined
  },
): Map<Check, Requirement> {
  const exercises = new Map<Check, Requirement>()
  for (const requirement of requirementsFor(requirements, profile, template)) {
    const check = checks.get(requirement.check!)
    const left = disabled[requirement.id] ?? disabled[withoutDialect(requirement.id)]
    const skip = !check || left !== undefined || (only && !only.includes(requirement.id))
    const place = check ? dialectFor(check, template) : null
    if (skip || place === null) continue
    const there = inDialect(template, place)
    if ((check.needs ?? []).some((need) => !declares(there, need))) continue
    if (check.overRun) continue
    const source = checks.get(check.shares ?? check.id)!
    if (!exercises.has(source)) exercises.set(source, requirement)
  }
  return exercises
}

/** Opens one worker or more, and adds each to `workers` as soon as it is open. */
async function openWorkers(
  workers: Worker[],
  count: number,
  settings: Omit<Parameters<typeof openWorker>[0], 'preflight' | 'onMock'>,
  onMock: NonNullable<ConformOptions['onMock']>,
): Promise<void> {
  do {
    const first = workers.length === 0
    const worker = await openWorker({
      ...settings,
      preflight: first ? 'preflight' : `preflight-${workers.length + 1}`,
      onMock: first ? onMock : () => {},
    })
    workers.push(worker)
  } while (workers.length < count)
}

/** Describes a run at its end, without the secrets of its target. */
async function describeRun(
  workers: readonly Worker[],
  {
    profile,
    only,
    disabled,
    quick,
    reproduce,
  }: Required<Pick<ConformOptions, 'profile' | 'disabled' | 'quick' | 'reproduce'>> & {
    readonly only: readonly string[] | undefined
  },
  startedAt: number,
  stopped: string | null,
): Promise<RunFile> {
  const counts = await Promise.all(workers.map((worker) => worker.inferences()))
  const { target, redact } = workers[0]!
  const run: RunFile = {
    format: 2,
    suite: SUITE,
    profile,
    target,
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
  return JSON.parse(redact(JSON.stringify(run)))
}

/** So few checks need no better estimate. */
const FEW_CHECKS = 5

/** Second call of a gateway, to measure its pace: the first one is slower. */
const secondCall: Check = {
  id: 'pace',
  async exercise(session) {
    await session.controlCall('the second call')
  },
  judge: () => [],
}

/** Returns the pace of a gateway from the fastest of its first calls. */
function paceOf({ capabilities }: Target, first: ReadonlyMap<string, Evidence>): GatewayPace {
  const calls = [...first.values()].flatMap(({ exchanges }) => exchanges.slice(0, 1))
  return {
    latency: Math.min(...calls.map(({ at, end_at }) => end_at - at)),
    cooldown: capabilities.cooldown_ms,
    reads: capabilities.read_paths.length,
  }
}

function write(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), `${JSON.stringify(content, null, 2)}\n`)
}
