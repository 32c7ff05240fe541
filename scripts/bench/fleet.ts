// `npm run bench -- fleet`: measures the cost of a shared log for each call. Compares a single gateway, a
// gateway in a fleet for each durability, and three gateways together, in turns on this machine. PostgreSQL
// waits for its disk. Prints a table of medians with their range. On a busy machine, processor time is the
// most reliable figure.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../src/test/test-postgres.ts'
import { type BenchTarget, startBenchWaybill, startUpstream } from './targets.ts'
import { type Round, wrk } from './wrk.ts'

const { rounds = '5', seconds = '3' } = parseArgs({
  options: { rounds: { type: 'string' }, seconds: { type: 'string' } },
}).values
const CONNECTIONS = 30

interface Setup {
  readonly name: string
  readonly gateways: readonly BenchTarget[]
  readonly single: Round[]
  /** Sum over all gateways of the setup. */
  readonly perSecond: number[]
  readonly many: Round[]
}

const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-'))
const postgres = await startPostgres({ fsync: 'on', shared_buffers: '128MB' })
const started: BenchTarget[] = []
try {
  const upstream = await startUpstream()
  started.push(upstream)
  let databases = 0
  async function setUp(name: string, more: string, count = 1): Promise<Setup> {
    process.env.FLEET_URL = await postgres.database(`bench${++databases}`)
    const gateways: BenchTarget[] = []
    for (let n = 1; n <= count; n++) {
      const data = join(directory, `${databases}-${n}`)
      mkdirSync(data)
      gateways.push(await startBenchWaybill(upstream, data, { more: more.replace('NAME', `i${n}`), name }))
    }
    started.push(...gateways)
    return { name, gateways, single: [], perSecond: [], many: [] }
  }
  const fleet = (durability: string) =>
    `durability: ${durability}\nfleet: { url: $FLEET_URL, instance: NAME, spool: { calls: 10000000 } }`
  const setups = [
    await setUp('alone, `process`', ''),
    await setUp('alone, `full`', 'durability: full'),
    await setUp('in a fleet, `process`', fleet('process')),
    await setUp('in a fleet, `full`', fleet('full')),
    await setUp('in a fleet, `shared`', fleet('shared')),
    await setUp('three in a fleet, `full`', fleet('full'), 3),
  ]
  const load = ({ gateways }: Setup, connections: number, time: number) =>
    Promise.all(gateways.map((each) => wrk(each, Math.ceil(connections / gateways.length), time)))
  for (const setup of setups) await load(setup, CONNECTIONS, 2)
  for (let round = 0; round < Number(rounds); round++) {
    for (const setup of setups) {
      if (setup.gateways.length === 1) setup.single.push(...(await load(setup, 1, Number(seconds))))
      const all = await load(setup, CONNECTIONS, Number(seconds))
      setup.many.push(...all)
      setup.perSecond.push(all.reduce((sum, { perSecond }) => sum + perSecond, 0))
    }
    console.error(`round ${round + 1} of ${rounds}`)
  }
  const bad = setups.flatMap(({ single, many }) => [...single, ...many])
  console.log(
    `${bad.reduce((sum, { badStatus, socketErrors }) => sum + badStatus + socketErrors, 0)} calls failed`,
  )
  console.log(
    `| | calls/s, ${CONNECTIONS} connections | ms a call, one connection | processor time a call, µs |\n|---|---|---|---|`,
  )
  for (const { name, single, many, perSecond } of setups)
    console.log(
      `| ${name} | ${spread(perSecond, 0)} | ${
        single.length === 0
          ? ''
          : spread(
              single.map(({ p50 }) => p50),
              2,
            )
      } | ${spread(
        many.map(({ all }) => all ?? Number.NaN),
        0,
      )} |`,
    )
} finally {
  await Promise.all(started.map((target) => target.stop()))
  await postgres.end()
  rmSync(directory, { recursive: true, force: true })
}

/** Formats the median and the range. */
function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, middle, high] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map((at) =>
    sorted[at]!.toFixed(digits),
  )
  return `${middle} (${low}–${high})`
}
