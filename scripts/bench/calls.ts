// `npm run bench`: measures the cost of Waybill in comparison with a bare proxy and other gateways, all in
// turns in one run: with chat calls, and with Messages calls translated for a chat provider. The request log
// is full from the start, so each new call deletes a record. `--quick` tries the bench itself and writes
// nothing; `--profile` shows where Waybill's time goes; `--beside DIR` adds the build of another checkout and
// writes nothing; `--rounds N` and `--seconds N` shorten the run; `--others NAMES` limits the other gateways.
// `--paired DIR` compares the main thread's processor time for a call with that of another checkout's build,
// in pairs (15, or `--rounds N`) at 32 connections (or `--connections N`), together with the bare proxy. Each
// pair has new processes, because a process is several per cent faster or slower than the next one of the
// same build for as long as it runs. `--keyed` uses calls with a gateway key. The run fails if a call takes
// over 3 % more.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { fillRecord } from './fill.ts'
import {
  BODY,
  hasWrk,
  MESSAGES_BODY,
  type Paired,
  paired,
  printProfiles,
  type Round,
  type StreamRound,
  streamRound,
  useOf,
  wrk,
} from './measure.ts'
import { type Disk, type Load, type Openings, report } from './report.ts'
import {
  type BenchTarget,
  OTHER_NAMES,
  startBareProxy,
  startBenchWaybill,
  startOther,
  startUpstream,
} from './targets.ts'

const {
  quick = false,
  profile = false,
  beside,
  paired: base,
  rounds,
  seconds,
  others = OTHER_NAMES.join(),
  connections = '32',
  keyed = false,
} = parseArgs({
  options: {
    quick: { type: 'boolean' },
    profile: { type: 'boolean' },
    beside: { type: 'string' },
    paired: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    others: { type: 'string' },
    connections: { type: 'string' },
    keyed: { type: 'boolean' },
  },
}).values
const ROUNDS = Number(rounds ?? (quick ? 2 : 7))
const SECONDS = Number(seconds ?? (quick ? 2 : 4))
/**
 * V8 compiles during the first seconds. This costs 87 µs of other threads' time for each call, and later only
 * 15 µs.
 */
const WARM_UP_SECONDS = quick ? 1 : 6
const LOADS = [
  { kind: 'chat', connections: 1 },
  { kind: 'chat', connections: 32 },
  { kind: 'messages', connections: 32 },
] as const
/** Rounds of each process of a pair: while V8 compiles, and measured. */
const [WARM_UP_ROUNDS, MEASURED_ROUNDS] = [2, 2]
const NO_OPENINGS: Openings = { here: 0, locked: 0, together: 0 }
/** Calls on record from the start: the default maximum. */
const CALLS = 100_000
const STREAM = { short: quick ? 20 : 60, events: 200, gap: 5, flood: 20_000 }
const DOCUMENT = join(import.meta.dirname, '../../docs/benchmarks.md')

if (!hasWrk()) {
  console.error('bench: wrk is missing; install it, for example with `apt-get install wrk`')
  process.exit(2)
}
const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-'))
const started: BenchTarget[] = []
try {
  await (base !== undefined ? runPaired(base) : profile ? runProfile() : runBench())
} finally {
  await Promise.all(started.map((target) => target.stop()))
  rmSync(directory, { recursive: true, force: true })
}

async function runBench(): Promise<void> {
  const upstream = await start(startUpstream())
  const targets = [upstream, await start(startBareProxy(upstream))]
  fillRecord(directory, CALLS)
  await (await startBenchWaybill(upstream, directory)).stop() // migrates the database, which takes memory
  const waybill = await start(startBenchWaybill(upstream, directory))
  targets.push(waybill)
  const idle = useOf(waybill.pid)?.resident ?? null
  if (beside !== undefined) {
    const other = mkdtempSync(join(directory, 'beside-'))
    fillRecord(other, CALLS)
    targets.push(await start(startBenchWaybill(upstream, other, { root: resolve(beside), name: 'beside' })))
  }
  for (const name of others.split(',').filter(Boolean)) {
    const other = await startOther(name, upstream)
    if (other) targets.push(await start(Promise.resolve(other)))
  }

  const streaming = targets.filter(({ speaks }) => speaks === undefined)
  for (const target of targets)
    for (const kind of ['chat', 'messages'] as const)
      if (isAsked(target, kind)) await loadRound(target, kind, 32, WARM_UP_SECONDS)
  for (const target of streaming) await streamRound(target, { ...STREAM, events: 10 })
  const load = LOADS.map((each): Load => ({ ...each, rounds: new Map(), openings: { ...NO_OPENINGS } }))
  const streams = new Map<string, StreamRound[]>()
  for (let round = 0; round < ROUNDS; round++) {
    const turn = targets.map((_, index) => targets[(index + round) % targets.length]!)
    for (const { kind, connections, rounds, openings } of load)
      for (const target of turn.filter((target) => isAsked(target, kind))) {
        const before = target === waybill ? await openingsOf(waybill) : NO_OPENINGS
        append(rounds, target.name, await loadRound(target, kind, connections, SECONDS))
        if (target === waybill) addDifference(openings, before, await openingsOf(waybill))
      }
    for (const target of turn.filter((target) => streaming.includes(target)))
      append(streams, target.name, await streamRound(target, STREAM))
    console.log(`round ${round + 1} of ${ROUNDS}`)
  }

  await waybill.stop()
  const disk = diskUse()
  const text = report({
    targets,
    load,
    streams,
    disk,
    idle,
    sizes: { rounds: ROUNDS, seconds: SECONDS, ...STREAM },
  })
  console.log(`\n${text}`)
  if (quick || beside !== undefined || seconds !== undefined) console.log(`${DOCUMENT} stays as it is.`)
  else publish(text)
}

/** Returns true if a target can be measured with this kind of call. */
function isAsked({ speaks }: BenchTarget, kind: Load['kind']): boolean {
  return speaks === undefined || speaks[kind]
}

function loadRound(
  target: BenchTarget,
  kind: Load['kind'],
  connections: number,
  seconds: number,
): Promise<Round> {
  const body = kind === 'chat' ? BODY : MESSAGES_BODY
  const { model = 'auto' } = target
  const url = kind === 'chat' ? target.url : new URL('/v1/messages', target.url).href
  return wrk({ ...target, url }, connections, seconds, JSON.stringify({ ...JSON.parse(body), model }))
}

/** Returns the numbers of calls that each writer has recorded so far, from Waybill's metrics. */
async function openingsOf({ url, headers }: BenchTarget): Promise<Openings> {
  const text = await (await fetch(new URL('/metrics', url), { headers })).text()
  const of = (by: keyof Openings) =>
    Number(
      new RegExp(`^waybill_record_openings_total\\{by="${by}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN,
    )
  return { here: of('here'), locked: of('locked'), together: of('together') }
}

function addDifference(sum: Openings, before: Openings, after: Openings): void {
  for (const by of ['here', 'locked', 'together'] as const) sum[by] += after[by] - before[by]
}

/** Compares a call of this build with a call of the build in `base`, and both with the bare proxy, in turns. */
async function runPaired(base: string): Promise<void> {
  const upstream = await start(startUpstream())
  const bare = await start(startBareProxy(upstream))
  const builds = [{ name: 'here' }, { name: 'base', root: resolve(base) }].map((build) => {
    const place = mkdtempSync(join(directory, `${build.name}-`))
    fillRecord(place, CALLS)
    return () => startBenchWaybill(upstream, place, { ...build, keyed })
  })
  const figures: PairedFigures = new Map(['bare proxy', 'here', 'base'].map((name) => [name, []]))
  const round = async (target: BenchTarget) => {
    const { main, all, ...rest } = await wrk(target, Number(connections), 1)
    if (main === null || all === null)
      throw new Error('bench: this system does not report the processor time of a thread')
    if (rest.badStatus + rest.socketErrors > 0) throw new Error(`bench: ${target.name} answered with errors`)
    return { main, all, ...rest }
  }
  for (let pair = 0; pair < Number(rounds ?? 15); pair++) {
    const targets = [bare]
    for (const startBuild of builds) targets.push(await start(startBuild()))
    if (pair === 0) for (const target of targets) console.log(`${target.name}: ${target.about}`)
    if (pair % 2 === 1) targets.reverse()
    for (let n = 0; n < WARM_UP_ROUNDS; n++) for (const target of targets) await round(target)
    const measured = new Map(targets.map((target) => [target, [] as PairedRound[]]))
    for (let n = 0; n < MEASURED_ROUNDS; n++)
      for (const [target, its] of measured) its.push(await round(target))
    for (const [{ name }, its] of measured) figures.get(name)!.push(meanOf(its))
    for (const target of targets) if (target !== bare) await target.stop()
  }
  printPaired(figures)
}

type PairedRound = Pick<Round, 'perSecond'> & { readonly main: number; readonly all: number }
type PairedFigures = ReadonlyMap<string, PairedRound[]>

function meanOf(rounds: readonly PairedRound[]): PairedRound {
  const mean = (what: keyof PairedRound) => rounds.reduce((sum, each) => sum + each[what], 0) / rounds.length
  return { main: mean('main'), all: mean('all'), perSecond: mean('perSecond') }
}

/** Prints a comparison of `here` with `base`, and of both with the bare proxy. */
function printPaired(figures: PairedFigures): void {
  const [bare, here, base] = ['bare proxy', 'here', 'base'].map((name) => figures.get(name)!)
  const compare = (what: keyof PairedRound, a: typeof here, b: typeof here) =>
    paired(a!.map((round, index) => round[what]! / b![index]![what]! - 1))
  const times = ({ median, low, high }: Paired) =>
    `${(median + 1).toFixed(2)} (${(low + 1).toFixed(2)} to ${(high + 1).toFixed(2)})`
  const labels = { main: 'main thread per call', all: 'process per call', perSecond: 'calls per second' }
  for (const [what, label] of Object.entries(labels) as [keyof typeof labels, string][])
    console.log(
      `${label}: ${times(compare(what, here, bare))} × bare; base ${times(compare(what, base, bare))} × bare; ${times(compare(what, here, base))} × base`,
    )
  const { median, low, high } = compare('main', here, base)
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  const verdict = high <= 0.03 ? 'at most 3 %' : low > 0.03 ? 'MORE THAN 3 %' : 'undecided: take more rounds'
  console.log(
    `main thread against base: ${percent(median)} (${percent(low)} to ${percent(high)}, ${here!.length} pairs, ${connections} connections): ${verdict}`,
  )
  if (median > 0.03) process.exitCode = 1
}

/** Runs one round of load on a Waybill that is being profiled. */
async function runProfile(): Promise<void> {
  const upstream = await start(startUpstream())
  fillRecord(directory, CALLS)
  const waybill = await start(
    startBenchWaybill(upstream, directory, {
      nodeArgs: ['--cpu-prof', `--cpu-prof-dir=${directory}`, '--cpu-prof-interval=250'],
    }),
  )
  await wrk(waybill, 32, WARM_UP_SECONDS)
  const from = Number(process.hrtime.bigint() / 1000n)
  const { perSecond } = await wrk(waybill, 32, quick ? SECONDS : 10)
  const to = Number(process.hrtime.bigint() / 1000n)
  await waybill.stop()
  console.log(`${waybill.about}; 32 connections, ${Math.round(perSecond)} requests/s while being profiled`)
  printProfiles(directory, from, to)
}

async function start(target: Promise<BenchTarget>): Promise<BenchTarget> {
  started.push(await target)
  return target
}

function append<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
  lists.set(name, [...(lists.get(name) ?? []), item])
}

/** Returns the size of the database and its write-ahead log, and the number of recorded calls. */
function diskUse(): Disk {
  const file = join(directory, 'waybill.db')
  const files = [file, `${file}-wal`].filter((each) => existsSync(each))
  const bytes = files.reduce((sum, each) => sum + statSync(each).size, 0)
  const db = new Database(file, { readonly: true })
  const calls = db.prepare('SELECT count(*) FROM call_logs').pluck().get() as number
  db.close()
  return { bytes, calls }
}

function publish(text: string): void {
  const [begin, end] = ['<!-- bench:begin -->', '<!-- bench:end -->']
  const page = readFileSync(DOCUMENT, 'utf8')
  const [before, after] = [page.split(begin)[0], page.split(end)[1]]
  if (before === page || after === undefined) throw new Error(`${DOCUMENT} has lost its markers`)
  writeFileSync(DOCUMENT, `${before}${begin}\n${text}\n${end}${after}`)
}
