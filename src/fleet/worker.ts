// The thread that connects to the shared log. Ships the calls of the journal, reads from the log, and sends a
// heartbeat once a second. Only reads the outbox. Loaded only with `fleet:`.
import { parentPort, workerData } from 'node:worker_threads'
import { after, detached, every, on, REPORTED } from '../shared/boundary.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import type { Pulse, Sender, SharedChore } from '../store/shared-log.ts'
import { openOutbox } from '../store/sqlite/outbox.ts'
import type { AskName, Asks, FleetReply, FleetRequest, Standing, WorkerData } from './thread.ts'

/** Interval between checks of the outbox, ms. */
const SHIP_MS = 200
/** Number of entries in one statement. */
const MAX_ENTRIES = 500
const HOUR = 3_600_000
/** First time of the chores after the start, and time after which a chore that failed is tried again, ms. */
const [FIRST_MS, AGAIN_MS] = [5_000, 5 * 60_000]

const { file, log: options, identity, config, days, shipped: begin } = workerData as WorkerData
const port = parentPort!
const say = (said: FleetReply): void => port.postMessage(said)

const outbox = openOutbox(file)
const log = openSharedLog(options)

let sender: Sender | null = null
let refused: string | null = null
let shipped = begin
/** Failure of shipping. Null if shipping works, undefined until the first try. */
let failure: string | null | undefined
let live = 1
/** Time of the last exchange by the clock of the shared log. */
let since: number | null = null

/** Joins the fleet: creates the tables, the partitions of coming days, and its own entry. */
async function join(): Promise<Sender> {
  if (sender) return sender
  const { problem } = await log.migrate()
  if (problem !== null) throw new Error(problem)
  const start = await log.register({ ...identity, id: outbox.id }, config)
  refused = typeof start === 'string' ? start : null
  if (typeof start === 'string') throw new Error(start)
  await log.makeDays()
  sender = { instance: outbox.id, start }
  return sender
}

interface Waiter {
  resolve(): void
  reject(error: Error): void
}
let waiters: Waiter[] = []
let running = false

/** Ships all entries. Requests made before a round begins are answered at its end. */
async function shipAll(): Promise<void> {
  if (running) return
  running = true
  while (waiters.length > 0) {
    const mine = waiters
    waiters = []
    try {
      const from = await join()
      const target = outbox.newest() ?? shipped
      while (shipped < target) {
        const unshipped = outbox.read(shipped, MAX_ENTRIES)
        if (!unshipped) break
        await log.ship(from, unshipped)
        shipped = unshipped.until
        say({ shipped })
      }
      tell(null)
      for (const { resolve } of mine) resolve()
    } catch (error) {
      tell((error as Error).message)
      for (const { reject } of mine) reject(error as Error)
    }
  }
  running = false
}

function tell(now: string | null): void {
  if (now !== failure) say({ failure: now })
  failure = now
}

const shipNow = (): Promise<void> =>
  new Promise((resolve, reject) => {
    waiters.push({ resolve, reject })
    detached(shipAll(), failed)
  })

/** Ends this thread after a fault in its own work, of which the rest would never be done. It is started again. */
const failed = (error: Error) => {
  say({ note: error.message })
  process.exit(1)
}
const timer = every(SHIP_MS, () => shipNow().catch(() => {}), failed)
const chores = Object.keys(log.upkeep) as SharedChore[]
const timers = new Map(chores.map((chore) => [chore, after(FIRST_MS, () => tidy(chore), failed)]))

/** Does one chore of upkeep. Its failure delays no other chore. */
async function tidy(chore: SharedChore): Promise<void> {
  let reason: string | null = null
  if (!sender) return later(chore, FIRST_MS) // the shared log is reported as unavailable
  try {
    await log.upkeep[chore](days, (note) => say({ note }))
  } catch (error) {
    reason = (error as Error).message
  }
  say({ chore, reason })
  later(chore, reason === null ? HOUR : AGAIN_MS)
}

function later(chore: SharedChore, ms: number): void {
  timers.set(
    chore,
    after(ms, () => tidy(chore), failed),
  )
}

async function beat(ask: Asks['pulse'][0]): Promise<Standing> {
  const backlog = outbox.backlog(shipped)
  let told: Pulse | null = null
  if (sender)
    try {
      told = await log.pulse(sender, { ...ask, backlog: backlog.calls, since })
      since = told.at
      live = Math.max(1, told.live.length)
      if (!told.isCurrent) {
        refused = 'another process has taken its place in the fleet'
        sender = null
      }
    } catch {} // `pulse: null` reports it
  return { start: sender?.start ?? null, refused, backlog, bytes: outbox.usedBytes(), pulse: told }
}

function present(): Sender {
  if (!sender) throw new Error(failure ?? 'it does not take part in the fleet yet')
  return sender
}

const answers: { [Name in AskName]: (ask: Asks[Name][0]) => Promise<Asks[Name][1]> } = {
  async ship() {
    await shipNow()
    return null
  },
  read: async ({ name, args }) =>
    (log.reads[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
  pulse: beat,
  lease: async (ask) => log.takeLease(present(), { ...ask, live }),
  async rate(ask) {
    present()
    return log.consumeRate(ask)
  },
  async leave(write) {
    present()
    await log.leave(write)
    return null
  },
  async keep(row) {
    present()
    await log.kept.keep(row)
    return null
  },
  drop: ({ id, keyName }) => log.kept.drop(id, keyName),
  async stop() {
    timer.close()
    for (const each of timers.values()) each.close()
    if (sender && failure === null) {
      await shipNow().catch(() => {}) // the rest is shipped at the next start
      await log.reportStop(sender).catch(() => {})
    }
    await log.close()
    outbox.close()
    return null
  },
}

const message = async ({ id, name, ask }: FleetRequest) =>
  say({ id, value: await (answers[name] as (ask: unknown) => Promise<unknown>)(ask) })
on(port, { message }, (error, { id }: FleetRequest) => {
  say({ id, error: error.message })
  return REPORTED
})
detached(shipNow(), () => REPORTED) // the log has the reason
