// `tsx scripts/bench.ts`: what Waybill costs, beside a bare proxy and another gateway, all in one run and in
// turns. The record is full from the start, so each call that is added deletes one. `--quick` tries the bench itself and
// writes nothing; `--profile` shows where Waybill's time goes; `--beside DIR` adds the build of another checkout and
// writes nothing; `--rounds N` makes it shorter.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { fill } from './bench/fill.ts'
import { useOf } from './bench/process.ts'
import { printProfiles } from './bench/profile.ts'
import { type Disk, report } from './bench/report.ts'
import { type StreamRound, streamRound } from './bench/streams.ts'
import { startBareProxy, startPortkey, startUpstream, startWaybill, type Target } from './bench/targets.ts'
import { hasWrk, type Round, wrk } from './bench/wrk.ts'

const {
  quick = false,
  profile = false,
  beside,
  rounds,
} = parseArgs({
  options: {
    quick: { type: 'boolean' },
    profile: { type: 'boolean' },
    beside: { type: 'string' },
    rounds: { type: 'string' },
  },
}).values
const ROUNDS = Number(rounds ?? (quick ? 2 : 7))
const SECONDS = quick ? 2 : 4
const WARM_UP_SECONDS = quick ? 1 : 3
const CONNECTIONS = [1, 32]
/** On record from the start: as many as there may be by default. */
const CALLS = 100_000
const STREAM = { short: quick ? 20 : 60, events: 200, gap: 5, flood: 20_000 }
const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md')

if (!hasWrk()) {
  console.error('bench: wrk is missing; install it, for example with `apt-get install wrk`')
  process.exit(2)
}
const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-'))
const started: Target[] = []
try {
  await (profile ? runProfile() : runBench())
} finally {
  await Promise.all(started.map((target) => target.stop()))
  rmSync(directory, { recursive: true, force: true })
}

async function runBench(): Promise<void> {
  const upstream = await start(startUpstream())
  const targets = [upstream, await start(startBareProxy(upstream))]
  fill(directory, CALLS)
  await (await startWaybill(upstream, directory)).stop() // brings the record up to date, which takes memory
  const waybill = await start(startWaybill(upstream, directory))
  targets.push(waybill)
  const idle = useOf(waybill.pid)?.resident ?? null
  if (beside !== undefined) {
    const other = mkdtempSync(join(directory, 'beside-'))
    fill(other, CALLS)
    targets.push(await start(startWaybill(upstream, other, { root: resolve(beside), name: 'beside' })))
  }
  const portkey = await startPortkey(upstream)
  if (portkey) targets.push(await start(Promise.resolve(portkey)))

  for (const target of targets) {
    await wrk(target, 32, WARM_UP_SECONDS)
    await streamRound(target, { ...STREAM, events: 10 })
  }
  const load = CONNECTIONS.map((connections) => ({ connections, rounds: new Map<string, Round[]>() }))
  const streams = new Map<string, StreamRound[]>()
  for (let round = 0; round < ROUNDS; round++) {
    const turn = targets.map((_, index) => targets[(index + round) % targets.length]!)
    for (const { connections, rounds } of load)
      for (const target of turn) append(rounds, target.name, await wrk(target, connections, SECONDS))
    for (const target of turn) append(streams, target.name, await streamRound(target, STREAM))
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
  if (quick || beside !== undefined) console.log(`${DOCUMENT} stays as it is.`)
  else publish(text)
}

/** One round of load on a Waybill that is being profiled. */
async function runProfile(): Promise<void> {
  const upstream = await start(startUpstream())
  fill(directory, CALLS)
  const waybill = await start(
    startWaybill(upstream, directory, {
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

async function start(target: Promise<Target>): Promise<Target> {
  started.push(await target)
  return target
}

function append<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
  lists.set(name, [...(lists.get(name) ?? []), item])
}

/** Database and write-ahead log, and the calls on record. */
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
