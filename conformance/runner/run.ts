// One run: selects the checks of a profile, runs them, and judges at the end. Evidence is written as soon as
// it is collected, so that an aborted run can still be examined.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MockProviders } from '../../mocks/server/create.ts'
import { after, stray } from '../../src/shared/boundary.ts'
import { type Clock, clock, useClock } from '../../src/shared/clock.ts'
import type { Check } from '../checks/check.ts'
import { drainOf } from '../checks/context.ts'
import { checks } from '../checks/registry.ts'
import {
  dialectFor,
  type Profile,
  type Requirement,
  type Requirements,
  readProfile,
  readRequirements,
  requirementsFor,
  withoutDialect,
} from '../checks/requirements.ts'
import { inDialect } from '../dialects/lookup.ts'
import { type Evidence, REMAINDER } from '../evidence/evidence.ts'
import { judge, type Results, type RunFile } from '../judge/judge.ts'
import { jsonFile } from '../judge/text.ts'
import { StartError } from '../target/instance.ts'
import { declares, type Target } from '../target/schema.ts'
import { type GatewayPace, usually } from './eta.ts'
import { isHere, type LiveSpending, MAX_RUN_MS, type Meter, openBounds, openMeter, plan } from './limits.ts'
import { openWorker, type Worker } from './worker.ts'

/**
 * Version of the suite. Its major version equals that of its frozen set of requirements, which decides by
 * default.
 */
export const SUITE = '5.0'

export interface ConformOptions {
  readonly target: Target
  readonly profile?: Profile
  /** Frozen set of requirements that decides, such as `4.0`; default: this version's set. */
  readonly set?: string
  /** True to allow real calls, which a profile without a mock needs; see `spendingOf`. */
  readonly live?: boolean
  /** True to allow checks that burden a target on another machine. */
  readonly stress?: boolean
  /** Requirement ids; default: all. */
  readonly only?: readonly string[]
  /** Requirement id -> reason for leaving it out. */
  readonly disabled?: Readonly<Record<string, string>>
  /** Directory for the evidence. Without it, no evidence is written. */
  readonly directory?: string
  /** Shortens idle windows from a minute to seconds; the run is at most `partial`. */
  readonly quick?: boolean
  /** Clock of the whole process while the run lasts: its times and its timers. The machine's by default. */
  readonly clock?: Clock
  /** Maximum duration of the run, ms. */
  readonly timeLimit?: number
  /** Command that repeats this run, for the report. */
  readonly reproduce?: string
  /** Called when the mock listens, before the target is started or called. */
  readonly onMock?: (mock: MockProviders) => void | Promise<void>
  /** Called with the requirements to try and the number of concurrent checks, after the target's first answer. */
  readonly onPlan?: (requirements: readonly Requirement[], atOnce: number, pace: GatewayPace) => void
  /** Called when a check begins, and again at its end with its evidence. */
  readonly onCheck?: (requirement: Requirement, evidence: Evidence | null) => void
}

export interface Conformed {
  readonly results: Results
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
}

/**
 * Tests a gateway against the contract. Rejects with StartError if the target cannot be started or reached,
 * or if its calls do not arrive at the mock. In this case only one call was made.
 */
export async function conform(options: ConformOptions): Promise<Conformed> {
  const leaveClock = useClock(options.clock)
  return runChecks(options).finally(leaveClock)
}

async function runChecks({
  target: template,
  profile = 'core',
  set = SUITE,
  live = false,
  stress = false,
  only,
  disabled: leftOut = {},
  directory,
  quick = false,
  timeLimit = MAX_RUN_MS,
  reproduce = '',
  onMock = () => {},
  onPlan = () => {},
  onCheck = () => {},
}: ConformOptions): Promise<Conformed> {
  const requirements = readRequirements()
  const startedAt = clock.monotonic()
  const evidence = new Map<string, Evidence>()
  const keep = (found: Evidence): void => {
    evidence.set(found.check, found)
    if (directory !== undefined) write(join(directory, 'evidence'), `${found.check}.json`, found)
  }

  const isLive = readProfile(profile).live
  if (isLive && !live)
    throw new StartError(`profile ${profile} makes real calls, which may cost money: it needs --live`)
  const disabled = { ...burdens(template, stress), ...leftOut }
  const exercises = exercisesOf(requirements, { target: template, profile, only, disabled })
  const meter = isLive ? openMeter(await plan(exercises.keys(), template)) : null
  const workers: Worker[] = []
  const bounds = openBounds(template.name)
  const ending = new AbortController()
  let stopped: string | null = null
  const stop = (reason: string, abort = true): void => {
    stopped ??= reason
    if (abort) ending.abort()
  }
  const clockwork = after(
    timeLimit,
    () => stop(`the run took longer than ${timeLimit / 60_000} min, its limit; --time-limit sets another`),
    stray,
  )
  try {
    const settings = { template, quick, keep, signal: ending.signal, send: meter?.send }
    await openWorkers(workers, Math.min(template.instances, exercises.size), settings, onMock)

    if (meter === null && exercises.size > FEW_CHECKS) await workers[0]!.run(laterCalls)
    const pace = paceOf(template, evidence, (clock.monotonic() - startedAt) / workers.length)
    onPlan([...exercises.values()], workers.length, pace)
    const queue = [...exercises]
    // Several workers begin with the longest checks, so that no long check is left at the end.
    if (workers.length > 1) queue.sort(([a], [b]) => usually(b.id, quick, pace) - usually(a.id, quick, pace))
    // A target that the suite cannot restart may not survive these checks, so they run last.
    if ('url' in template.start) queue.sort(([a], [b]) => Number(isHostile(a)) - Number(isHostile(b)))
    const excessOf = (found: Evidence) => bounds.exceeded(found) ?? meter?.exceeded() ?? null
    await workThrough(workers, queue, { onCheck, excessOf, stop, signal: ending.signal })

    const remainders = workers.map((worker, index) =>
      worker.remainder(index === 0 ? REMAINDER : `${REMAINDER}-${index + 1}`),
    )
    for (const remainder of await Promise.all(remainders)) keep(remainder)
    const asked = { profile, set, only, disabled, quick, reproduce, meter }
    const run = await describeRun(workers, asked, startedAt, stopped)
    const results = judge(run, evidence, requirements)
    if (directory !== undefined) write(directory, 'run.json', run)
    return { results, run, evidence }
  } finally {
    clockwork.close()
    for (const worker of workers) await worker.close()
  }
}

/**
 * Runs checks: each worker takes the next check until none is left. If a worker fails, the other workers
 * finish their current check.
 */
async function workThrough(
  workers: readonly Worker[],
  queue: [Check, Requirement][],
  {
    onCheck,
    excessOf,
    stop,
    signal,
  }: Required<Pick<ConformOptions, 'onCheck'>> & {
    /** Returns the reason why the run must end after this evidence, or null. */
    readonly excessOf: (found: Evidence) => string | null
    readonly stop: (reason: string, abort: boolean) => void
    readonly signal: AbortSignal
  },
): Promise<void> {
  const work = async (worker: Worker): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [check, requirement] = next
      onCheck(requirement, null)
      const { evidence: found, gone } = await worker.run(check)
      onCheck(requirement, found)
      const excess = excessOf(found)
      if (excess !== null) stop(excess, true)
      if (signal.aborted) return
      if (gone === null || (isHostile(check) && queue.length === 0)) continue
      return stop(`${worker.target.name} has been gone since ${requirement.id}: ${gone}`, false)
    }
  }
  const nothingMore = () => {
    queue.length = 0
  }
  const ends = await Promise.allSettled(workers.map((worker) => work(worker).finally(nothingMore)))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Returns the maximum that a run of a profile without a mock will send. Sends nothing itself. */
export async function spendingOf({
  target,
  profile = 'server',
  only,
  stress = false,
}: Pick<ConformOptions, 'target' | 'profile' | 'only' | 'stress'>): Promise<LiveSpending> {
  const disabled = burdens(target, stress)
  return plan(exercisesOf(readRequirements(), { target, profile, only, disabled }).keys(), target)
}

/** Returns the checks that would burden other people's machines, each with the reason to leave it out. */
const burdens = (target: Target, stress: boolean): Record<string, string> =>
  stress || isHere(target)
    ? {}
    : Object.fromEntries(
        [...checks.values()].flatMap(({ id, stress: isHeavy }: Check) =>
          isHeavy ? [[id, 'it burdens the server, which is not on this machine; --stress allows it']] : [],
        ),
      )

/** Returns the checks to run, each with the first requirement that needs it. */
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

const isHostile = ({ hostile = false }: Check): boolean => hostile

/** Opens the workers, and adds each to `workers` as soon as it is open. */
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
    set,
    only,
    disabled,
    quick,
    reproduce,
    meter,
  }: Required<Pick<ConformOptions, 'profile' | 'set' | 'disabled' | 'quick' | 'reproduce'>> & {
    readonly only: readonly string[] | undefined
    readonly meter: Meter | null
  },
  startedAt: number,
  stopped: string | null,
): Promise<RunFile> {
  const counts = await Promise.all(workers.map((worker) => worker.inferences()))
  const { target, redact } = workers[0]!
  const run: RunFile = {
    format: 2,
    suite: SUITE,
    set,
    profile,
    target,
    started_at: startedAt,
    ended_at: clock.monotonic(),
    only: only ? [...only] : null,
    disabled: { ...disabled },
    quick,
    inferences: counts.reduce((sum, count) => sum + count, 0),
    live: meter && { announced: meter.announced, made: meter.spent(), reported: meter.reported() },
    stopped,
    environment: { node: process.version, platform: `${process.platform} ${process.arch}` },
    reproduce,
  }
  return JSON.parse(redact(JSON.stringify(run)))
}

/** Assumed duration of a small call to a model, ms. */
const LIVE_LATENCY_MS = 500

/** Number of checks that need no better estimate. */
const FEW_CHECKS = 5

/** Time after which no further call is made to measure the pace, ms. */
const MAX_MEASURING_MS = 5_000

/** Calls that measure the pace of a gateway, because its first call is slower than later calls. */
const laterCalls: Check = {
  id: 'pace',
  async exercise(session) {
    const began = clock.monotonic()
    for (const number of ['second', 'third', 'fourth', 'fifth', 'sixth'])
      if (clock.monotonic() - began < MAX_MEASURING_MS) await session.controlCall(`the ${number} call`)
  },
  judge: () => [],
}

/**
 * Returns the pace of a gateway from the median of its later calls, if it made any, and from its target file. Of two
 * middle calls, the faster one counts, because a gateway that has just started is slower than later.
 */
function paceOf(
  { capabilities, observability }: Target,
  first: ReadonlyMap<string, Evidence>,
  start: number,
): GatewayPace {
  const later = first.get(laterCalls.id)
  const measured = later ? [later] : [...first.values()]
  const calls = measured.flatMap(({ exchanges }) => exchanges)
  const latencies = calls.map(({ at, end_at }) => end_at - at).sort((a, b) => a - b)
  const { cooldown_ms, retry_delay_ms, read_paths, time_outs = {} } = capabilities
  const { log, headers } = observability
  const { answer_ms = 0, first_event_ms = 0, idle_ms = 0 } = time_outs
  return {
    // Without a mock there is no first call to measure.
    latency: latencies[(latencies.length - 1) >> 1] ?? LIVE_LATENCY_MS,
    start,
    failure: cooldown_ms + retry_delay_ms,
    lag: log?.lag_ms ?? 0,
    fresh: headers.request_id === undefined ? (log?.lag_ms ?? 0) : 0,
    silence: answer_ms + first_event_ms + idle_ms,
    drain: drainOf(capabilities),
    reads: read_paths.length,
  }
}

function write(directory: string, name: string, content: object): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, name), jsonFile(content))
}
