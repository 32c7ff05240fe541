// `npm run selftest -- simulate [--seed N] [--steps M] [--histories K]`: runs the whole gateway in simulated time, with
// crashes between any two of its writes. One seed is one history, byte for byte; `--journal` prints it. A history that
// fails is shortened and printed as a test; `--events JSON` plays these events instead; `--seconds S` begins no history later, and
// `--shorten S` is the time for shortening. `--crashes W` gives crashes this weight (calls have 60); `--deaths P` looks at
// deaths in this share of the writes, without restarting the gateway. `simulate guards [NAME…]` puts each fault of
// `guards.yaml` into the gateway, and tells whether the simulation finds it within 80,000 steps or `--seconds`. Histories run
// in this process, whose clock and chance it takes over for good.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import 'ws' // the gateway loads it with the first socket, which takes real time
import { onStray } from '../../src/shared/boundary.ts'
import { type Event, eventsOf } from './events.ts'
import { INVERTED } from './invert.ts'
import { Dice, useSimulated, VirtualClock, watchDisks } from './machine.ts'
import { SimulatedWorld } from './world.ts'

let world: SimulatedWorld
let isPrepared = false

function prepare(): void {
  if (isPrepared) return
  isPrepared = true
  useSimulated(
    () => world.clock,
    () => world.dice,
  )
  watchDisks()
  const fail = (error: unknown) => world.fail(`the process would end: ${(error as Error)?.stack ?? error}`)
  process.on('uncaughtException', fail).on('unhandledRejection', fail)
  onStray((error) => world.fail(`an exception that no call caught: ${(error as Error)?.stack ?? error}`))
}

/** Plays the history of a seed, or these events of it. `lookedAt`: share of the writes in which deaths are looked at. */
async function simulate(seed: number, steps: number, events = eventsOf(seed, steps), lookedAt = 0) {
  const clock = new VirtualClock()
  const dice = new Dice(seed ^ 0x5eed)
  world = { clock, dice } as SimulatedWorld // for what is drawn before the world is there
  prepare()
  world = new SimulatedWorld(clock, dice, lookedAt)
  return { world, events, finding: await world.play(events) }
}

/** Returns a shorter history with the same finding: leaves out events, first many, then one, until the time is over. */
async function shortened(
  seed: number,
  finding: string,
  events: readonly Event[],
  seconds: number,
  lookedAt: number,
): Promise<readonly Event[]> {
  const isSame = async (some: readonly Event[]) =>
    kindOf((await simulate(seed, 0, [...some], lookedAt)).finding) === kindOf(finding)
  let short = events
  const end = process.hrtime()[0] + seconds
  for (let size = short.length >> 1; size > 0; size >>= 1)
    for (let at = 0; at < short.length && process.hrtime()[0] < end; ) {
      const some = [...short.slice(0, at), ...short.slice(at + size)]
      if (await isSame(some)) short = some
      else at += size
    }
  return short
}

/** Returns a finding without its names and numbers. */
const kindOf = (finding: string | null): string | null =>
  finding && finding.split('\n')[0]!.replaceAll(/n?\d[\w.-]*/g, '')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '300' },
    histories: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '86400' },
    shorten: { type: 'string', default: '120' },
    journal: { type: 'boolean', default: false },
    events: { type: 'string' },
    crashes: { type: 'string' },
    deaths: { type: 'string', default: '0' },
  },
})
const now = process.hrtime.bigint.bind(process.hrtime)

if (positionals[0] === 'guards') await invertAll(positionals.slice(1))
else await runHistories()

/** Plays histories until one fails. */
async function runHistories(): Promise<void> {
  const [first, steps, count] = [Number(values.seed), Number(values.steps), Number(values.histories)]
  const began = now()
  const elapsed = () => Number(now() - began) / 1e9
  const sums = { histories: 0, steps: 0, calls: 0, crashes: 0, looks: 0 }
  const crashes = values.crashes === undefined ? undefined : Number(values.crashes)
  let found: string | null = null
  for (
    let seed = first;
    seed < first + count && found === null && elapsed() < Number(values.seconds);
    seed++
  ) {
    const { world, finding, events } = await simulate(
      seed,
      steps,
      values.events ? JSON.parse(values.events) : eventsOf(seed, steps, crashes),
      Number(values.deaths),
    )
    sums.histories++
    sums.steps += world.step
    sums.calls += world.calls
    sums.crashes += world.crashes
    sums.looks += world.looks
    if (values.journal) process.stdout.write(`${world.journal.join('\n')}\n`)
    if (finding === null) continue
    process.stdout.write(`seed ${seed}, step ${world.step}: ${finding}\n`)
    found = await asTest(seed, finding, events.slice(0, world.step))
  }
  const { user, system } = process.cpuUsage()
  const busy = (user + system) / 1e6
  process.stderr.write(
    `${sums.histories} histories, ${sums.steps} steps, ${sums.calls} calls (${Math.round(sums.calls / busy)} a second of processor time), ${sums.crashes} crashes (${Math.round((60 * sums.crashes) / busy)} a minute of it), ${sums.looks} deaths looked at, ${elapsed().toFixed(1)} s\n`,
  )
  if (found !== null) process.stdout.write(found)
  process.exit(found === null ? 0 : 1)
}

/** Describes the shortest history that was found, as a test. */
async function asTest(seed: number, finding: string, events: readonly Event[]): Promise<string> {
  const short = values.events
    ? events
    : await shortened(seed, finding, events, Number(values.shorten), Number(values.deaths))
  const list = short.map((event) => `    ${JSON.stringify(event)},\n`).join('')
  return `test('${short.length} events', () => {\n  const events = [\n${list}  ]\n  assert.equal(run('--seed', '${seed}', '--events', JSON.stringify(events)).status, 0)\n})\n`
}

/** Runs the simulation against each inverted guard. Exit code 1 if one is not found. */
async function invertAll(names: readonly string[]): Promise<void> {
  const queue = Object.keys(INVERTED).filter((name) => names.length === 0 || names.includes(name))
  let missed = 0
  const work = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const output = await runInverted(name)
      const [, step, what] = /^seed \d+, step (\d+): (.*)/m.exec(output) ?? []
      const [, length] = /^test\('(\d+) events/m.exec(output) ?? []
      const [, histories, steps] = /^(\d+) histories, (\d+) steps/m.exec(output) ?? []
      if (what === undefined) missed++
      process.stdout.write(
        what === undefined
          ? `${name}: not found in ${steps} steps${steps ? '' : `\n${output}`}\n`
          : `${name}: found in history ${histories}, step ${step} of it, ${steps} in all; shortest ${length}: ${what.slice(0, 160)}\n`,
      )
    }
  }
  await Promise.all([work(), work()])
  process.exitCode = missed > 0 ? 1 : 0
}

function runInverted(name: string): Promise<string> {
  const preload = join(import.meta.dirname, 'invert.ts')
  const options = [
    '--seed',
    values.seed,
    '--steps',
    values.steps,
    '--histories',
    '333',
    '--seconds',
    values.seconds,
    '--shorten',
    values.shorten,
    '--deaths',
    values.deaths,
  ]
  const child = spawn(process.execPath, ['--import', preload, import.meta.filename, ...options], {
    env: { ...process.env, WAYBILL_GUARD: name },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 600_000,
  })
  let output = ''
  const add = (piece: unknown) => {
    output += String(piece)
  }
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  return new Promise((resolve) => child.on('close', () => resolve(output)))
}
