// The thread that connects to the shared log. Ships the calls of the journal, reads from the log, and sends a
// heartbeat once a second. Only reads the outbox. Loaded only with `fleet:`.
import { parentPort, workerData } from 'node:worker_threads'
import { after, every, on } from '../shared/boundary.ts'
import { openSharedLog } from '../store/postgres/shared-log.ts'
import type { Pulse, Sender } from '../store/shared-log.ts'
import { openOutbox } from '../store/sqlite/outbox.ts'
import type { AskName, Asks, FleetReply, FleetRequest, Standing, WorkerData } from './protocol.ts'

/** Interval between checks of the outbox, ms. */
const SHIP_MS = 200
/** Number of entries in one statement. */
const MAX_ENTRIES = 500
const HOUR = 3_600_000

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
    void shipAll()
  })

const failed = (error: unknown) => say({ note: (error as Error).message })
const timer = every(SHIP_MS, () => shipNow().catch(() => {}), failed)
const hourly = every(HOUR, tidy, failed)
after(5_000, tidy, failed).unref()

/** Creates the partitions of coming days and drops old ones. */
async function tidy(): Promise<void> {
  if (!sender) return
  try {
    await log.makeDays()
    await log.kept.expire(Date.now())
    const dropped = await log.dropOldDays(days)
    if (dropped.length > 0) say({ note: `dropped ${dropped.join(', ')}, which were older than ${days} days` })
  } catch (error) {
    say({ note: `the days of the shared log could not be tidied: ${(error as Error).message}` })
  }
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
    clearInterval(timer)
    clearInterval(hourly)
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
on(port, { message }, (error, { id }: FleetRequest) => say({ id, error: (error as Error).message }))
void shipNow().catch(() => {})
