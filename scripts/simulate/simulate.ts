// Runs histories in this process, whose clock and chance it takes over for good.
import 'ws' // the gateway loads it with the first socket, which takes real time
import { onStray } from '../../src/shared/boundary.ts'
import { watchDisks } from './disk.ts'
import { type Event, eventsOf } from './events.ts'
import { Dice, useSimulated, VirtualClock } from './time.ts'
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
export async function simulate(seed: number, steps: number, events = eventsOf(seed, steps), lookedAt = 0) {
  const clock = new VirtualClock()
  const dice = new Dice(seed ^ 0x5eed)
  world = { clock, dice } as SimulatedWorld // for what is drawn before the world is there
  prepare()
  world = new SimulatedWorld(clock, dice, lookedAt)
  return { world, events, finding: await world.play(events) }
}

/** Returns a shorter history with the same finding: leaves out events, first many, then one, until the time is over. */
export async function shortened(
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
