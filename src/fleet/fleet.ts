// Connects a gateway to a fleet. The journal stays unchanged, and its contents are sent to the shared log.
// Writes pass through this file, reads come from the shared log, and the instances exchange their state once
// a second. Owns the thread that connects to PostgreSQL; contains no SQL. Loaded only with `fleet:`.
import { GatewayError } from '../core/errors.ts'
import { type Account, accountName, periodsOf } from '../core/period.ts'
import type { Log } from '../core/process-log.ts'
import type { NoteChore } from '../core/upkeep.ts'
import { after, detached, stray } from '../shared/boundary.ts'
import { clock, sleep, type Timer } from '../shared/clock.ts'
import { type Reads, readsThrough } from '../store/reads.ts'
import type {
  LateWrite,
  Pulse,
  SharedConversation,
  SharedLogOptions,
  SharedReads,
} from '../store/shared-log.ts'
import type { Journal, Spent, Store } from '../store/store.ts'
import { refusedEnd, type Write } from '../store/writes.ts'
import { createFleetRates, createLeases, type FleetRates, type LeaseDeps, type Leases } from './leases.ts'
import { createSpool, type SpoolLimits } from './spool.ts'
import { digestOf, type FleetThread, locationDigest, type Standing, startFleetThread } from './thread.ts'

export interface FleetOptions extends SharedLogOptions {
  readonly name: string
  readonly version: string
  /** True if a call must be in the shared log before its first byte is sent. */
  readonly shared: boolean
  readonly days: number
  readonly spool: SpoolLimits
  readonly rateFallback: 'divide' | 'refuse'
  readonly journal: Journal
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly config: object
  readonly reserved: (account: Account) => number
  /** Returns the targets that failed here since the last call, and their cooldowns, ms. */
  readonly failedTargets: () => readonly { readonly target: string; readonly ms: number }[]
  readonly cool: (target: string, ms: number) => void
  readonly conversations: {
    takeChanged(): readonly SharedConversation[]
    apply(changes: readonly SharedConversation[]): void
  }
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly onChore: NoteChore
}

export interface Fleet {
  readonly name: string
  readonly open: Store['open']
  readonly write: Store['write']
  readonly reads: Reads
  readonly kept: Store['kept']
  /** Returns the reason why no call can be accepted at present; null if calls are accepted. */
  refusal(): string | null
  /** Returns the reason why the shared log accepts no calls at present; null if it accepts them. */
  failure(): string | null
  readonly backlog: number
  readonly instances: readonly { readonly name: string; readonly config: string }[]
  readonly leases: Leases
  /** Returns the spending that the other instances have reported. */
  spentElsewhere(account: Account): Spent
  readonly rates: FleetRates
  /** Sets the function that applies writes by other instances to calls of this instance. */
  take(apply: (write: LateWrite) => Promise<void>): void
  /** Reports a reloaded configuration. */
  configured(config: object): void
  close(): Promise<void>
}

const PULSE_MS = 1_000
/** Maximum time for which a call waits for the shared log, ms. */
const SHARED_MS = 4_500
const READ_MS = 30_000
const START_MS = 3_000
/** Timeout of a rate check, ms. Every call of a key with a rate limit waits for this check. */
const RATE_MS = 1_500

/**
 * Joins the fleet. Rejects if the instance may not join. If the shared log is unreachable, the gateway starts
 * and joins later.
 */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { journal, now, log, name } = options
  let digest = digestOf(options.config)
  let standing: Standing | null = null
  let elsewhere: ReadonlyMap<string, Spent> = new Map()
  let lastLive = 1
  const inbox = createInbox()
  const spool = createSpool(options.spool)

  const link = startLink(options, () => digest)
  const { thread } = link
  const live = () => standing?.pulse?.live.length ?? lastLive
  const leases = createLeases({
    spent: (account) => journal.spending.spent(account).usd,
    reserved: options.reserved,
    spentElsewhere: (account) => elsewhere.get(accountName(account))?.usd ?? 0,
    live,
    ask: (request) => thread.ask('lease', request, SHARED_MS),
    now,
  } satisfies LeaseDeps)

  const warnOfOthers = createConfigWarning(log)
  async function beat(): Promise<void> {
    const periods = [...new Set([...periodsOf(now(), null), ...leases.periods()])]
    const seen = spool.looking()
    const [cooled, conversations] = [options.failedTargets(), options.conversations.takeChanged()]
    const ask = { config: digest, cooled, conversations, taken: inbox.taken, back: leases.beat(), periods }
    const told = await thread.ask('pulse', ask, READ_MS).catch(() => null)
    standing = told
    if (told) seen(told)
    if (!told?.pulse) return
    followOthers(options, told.pulse)
    leases.heard(told.pulse.granted)
    elsewhere = new Map(told.pulse.spentElsewhere.map((each) => [accountName(each), each]))
    lastLive = told.pulse.live.length
    warnOfOthers(told.pulse.live, digest)
    await inbox.receive(told.pulse.left)
  }

  const refusal = (): string | null => {
    if (standing?.refused) return `this instance may not take part in the fleet: ${standing.refused}`
    if (options.shared && link.failure !== null)
      return `the shared log does not accept calls: ${link.failure}`
    const full = spool.full(now())
    return full && `the shared log does not accept calls (${link.failure ?? 'it is behind'}): ${full}`
  }
  await firstBeats(thread, beat, () => standing !== null)
  const first = standing as Standing | null
  if (first?.refused) {
    await thread.stop()
    throw new Error(`cannot take part in the fleet: ${first.refused}`)
  }
  const stopBeating = keepBeating(beat)

  return {
    name,
    ...writeThrough(options, link, refusal, spool.began),
    reads: readShared(journal, thread),
    kept: keepShared(thread),
    refusal,
    failure: () => standing?.refused ?? link.failure,
    get backlog() {
      return spool.calls
    },
    get instances() {
      return standing?.pulse?.live ?? []
    },
    leases,
    spentElsewhere: (account) => elsewhere.get(accountName(account)) ?? NOTHING_SPENT,
    rates: createFleetRates((request) => thread.ask('rate', request, RATE_MS), options.rateFallback, live),
    take: inbox.take,
    configured(config) {
      digest = digestOf(config)
    },
    async close() {
      stopBeating()
      await link.close()
    },
  }
}

const NOTHING_SPENT: Spent = { usd: 0, estimatedUsd: 0, unknownAttempts: 0 }

/** Skips targets that failed at other instances, and applies the other instances' changes to conversations. */
function followOthers({ cool, conversations }: FleetOptions, pulse: Pulse): void {
  for (const [target, ms] of Object.entries(pulse.cooling)) cool(target, ms)
  conversations.apply(pulse.conversations)
}

/** Creates the receiver of writes that other instances left for this one. A write that fails arrives again. */
function createInbox() {
  let apply: ((write: LateWrite) => Promise<void>) | null = null
  let taken: readonly string[] = []
  return {
    take(function_: (write: LateWrite) => Promise<void>) {
      apply = function_
    },
    /** Calls whose writes have all been applied. */
    get taken() {
      return taken
    },
    async receive(left: readonly LateWrite[]): Promise<void> {
      if (!apply) return
      const ids: string[] = []
      for (const [id, writes] of Map.groupBy(left, (each) => each.id))
        try {
          for (const write of writes) await apply(write)
          ids.push(id)
        } catch {}
      taken = ids
    },
  }
}

/** Returns true for a write about a batch that was made earlier, perhaps by another instance. */
const isLate = (write: Write): write is LateWrite =>
  (write.kind === 'close' && write.releases === true) ||
  (write.kind === 'streaming' && write.objects !== undefined && !write.staysOpen)

const keepShared = (thread: FleetThread): Store['kept'] => ({
  keep: async (row) => void (await thread.ask('keep', row, SHARED_MS)),
  drop: (id, keyName) => thread.ask('drop', { id, keyName }, SHARED_MS),
})

/**
 * Returns a function that warns of instances with a different configuration. It warns once for each instance and pair
 * of configurations.
 */
function createConfigWarning(log: FleetOptions['log']): (live: Fleet['instances'], digest: string) => void {
  const digestsSeen = new Set<string>()
  return (live, digest) => {
    for (const { name: other, config } of live) {
      if (config === digest || digestsSeen.has(`${other} ${config} ${digest}`)) continue
      digestsSeen.add(`${other} ${config} ${digest}`)
      log.warn({ instance: other }, 'another instance of the fleet has a different configuration')
    }
  }
}

/**
 * Ships and sends heartbeats until the shared log has reported this instance's state, or has been unreachable
 * for a while.
 */
async function firstBeats(
  thread: FleetThread,
  beat: () => Promise<void>,
  isTold: () => boolean,
): Promise<void> {
  const until = clock.monotonic() + START_MS
  do {
    await thread.ask('ship', null, START_MS).catch(() => {})
    await beat()
  } while (!isTold() && clock.monotonic() < until)
}

/** Sends heartbeats with a pause after the end of each. Returns a function that stops the heartbeats. */
function keepBeating(beat: () => Promise<void>): () => void {
  let stopped = false
  let timer: Timer | undefined
  const later = () => {
    timer?.close()
    if (!stopped) timer = after(PULSE_MS, next, later)
  }
  const next = () => beat().finally(later)
  later()
  return () => {
    stopped = true
    timer?.close()
  }
}

interface Link {
  readonly thread: FleetThread
  /** Reason why the shared log accepts no calls; null if it accepts them. */
  readonly failure: string | null
  close(): Promise<void>
}

/** Starts the thread that fills the shared log, and deletes shipped entries from the outbox. */
function startLink(options: FleetOptions, digest: () => string): Link {
  const { journal, log, name } = options
  let shipped = 0
  let failure: string | null = 'it has not been reached yet'
  let lettingGo = false

  const letGo = async () => {
    if (lettingGo) return
    lettingGo = true
    await sleep(100) // several batches share one write
    await journal.shipped(shipped).catch(() => {}) // the next acknowledgement includes this one
    lettingGo = false
  }
  const thread: FleetThread = startFleetThread(
    () => ({
      file: journal.file,
      log: { url: options.url, tls: options.tls, ca: options.ca },
      identity: { name, place: locationDigest(journal.file), version: options.version },
      config: digest(),
      days: options.days,
      shipped,
    }),
    (said) => {
      if ('shipped' in said) {
        shipped = said.shipped
        detached(letGo(), stray)
      } else if ('chore' in said) options.onChore(said.chore, said.reason)
      else if ('note' in said) log.warn({ instance: name }, said.note)
      else {
        failure = said.failure
        if (failure !== null) log.error({ reason: failure }, 'the shared log does not accept calls')
        else log.info({ instance: name }, 'the shared log accepts calls')
      }
    },
    (reason) => log.error({ reason }, 'the fleet thread died; it restarts in one second'),
  )
  return {
    thread,
    get failure() {
      return failure
    },
    async close() {
      await thread.stop()
      await journal.shipped(shipped).catch(() => {})
    },
  }
}

/**
 * Builds a fleet's `open` and `write`. Both functions write to the journal and, with `shared`, also to the
 * shared log.
 */
function writeThrough(
  { journal, shared, now }: FleetOptions,
  link: Link,
  refusal: () => string | null,
  onBegin: () => () => void,
): Pick<Store, 'open' | 'write'> {
  const share = async () => {
    if (link.failure !== null) throw new Error(link.failure)
    await link.thread.ask('ship', null, SHARED_MS)
  }
  return {
    open(opening, done) {
      const why = refusal()
      if (why !== null) return done(new Error(why))
      const opened = onBegin()
      journal.open(opening, (error) => {
        opened()
        if (error || !shared) return done(error)
        share().then(
          () => done(null),
          (error) => {
            detached(journal.write(refusedEnd(opening, now())), stray)
            done(error)
          },
        )
      })
    },
    async write(what) {
      if (isLate(what) && !(await journal.calls.find(what.id))) {
        await link.thread.ask('leave', what, SHARED_MS)
        return
      }
      await journal.write(what)
      if (what.kind === 'next' && shared) await share()
      // Clients may continue an answer at another gateway as soon as they have received it.
      if (what.kind === 'named') await share().catch(() => {})
    },
  }
}

/**
 * Reads from the shared log after shipping all entries of this instance. Artifacts come from the instance's
 * own journal.
 */
function readShared(journal: Journal, thread: FleetThread): Reads {
  const shared: Reads = readsThrough(async (name, args) => {
    try {
      await journal.settle()
      await thread.ask('ship', null, SHARED_MS)
      return await thread.ask('read', { name: name as keyof SharedReads, args }, READ_MS)
    } catch (cause) {
      throw new GatewayError(
        'log_unavailable',
        'The shared log cannot be read; use scope=instance for what this gateway has on record.',
        { cause },
      )
    }
  })
  return {
    ...shared,
    // Each instance has its own retention, stores the artifacts of its own calls, and reprices only these.
    fill: journal.calls.fill,
    past: journal.calls.past,
    artifact: journal.calls.artifact,
    async makerOf(responseId, keyName) {
      const own = await journal.calls.makerOf(responseId, keyName)
      return own ?? shared.makerOf(responseId, keyName)
    },
    async objectMakers(names) {
      const own = await journal.calls.objectMakers(names)
      const others = names.filter((name) => !own.some(({ id }) => id === name))
      return others.length === 0 ? own : [...own, ...(await shared.objectMakers(others))]
    },
    async find(id, keyName) {
      const found = await shared.find(id, keyName)
      const own = found && (await journal.calls.find(id, keyName))
      return own ? { ...found, artifact: own.artifact } : found
    },
  }
}
