// Joins the parts into a running gateway, for `serve`, tests and programs that embed the gateway; among them the spent
// and reserved money of each key.
import type { IncomingHttpHeaders } from 'node:http'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }
import { BackgroundRuns } from '../call/background.ts'
import type { CallContext } from '../call/context.ts'
import { GivenItems } from '../call/given-items.ts'
import { RunsHere } from '../call/run-here.ts'
import type { KeyConfig } from '../config/load.ts'
import { type Account, endOf, periodOf } from '../core/period.ts'
import { type Log, SILENT } from '../core/process-log.ts'
import type { TracedCall } from '../core/tracing.ts'
import { CHORES, createUpkeep, type Upkeep } from '../core/upkeep.ts'
import { DIALECTS, type Dialects } from '../dialects/registry.ts'
import type { BudgetUse, ReadContext } from '../endpoints/context.ts'
import { endLive } from '../endpoints/live.ts'
import { nowhere, PAGE, readPage } from '../endpoints/page.ts'
import { createCallSlots } from '../http/call-slots.ts'
import { createPageTokens } from '../http/caller.ts'
import type { ErrorWording } from '../http/endpoint.ts'
import { createLimits } from '../http/limits.ts'
import { createRefusals } from '../http/refusals.ts'
import { PLAIN_WORDING } from '../http/reply.ts'
import { createHttpServer } from '../http/server.ts'
import { createWebSockets } from '../http/web-sockets.ts'
import { type LearnedRefusals, NOTHING_LEARNED, openLearnedRefusals } from '../models/learned.ts'
import { errorFields, logCalls, warnOfVariables } from '../observe/call-line.ts'
import { createMetrics, type KeyBudget, type Metrics } from '../observe/metrics.ts'
import { createFeed, type Observer, type WatchedCall, watchWrites } from '../observe/watch.ts'
import { createConnections } from '../providers/connections.ts'
import { RoutingState } from '../routing/routing-state.ts'
import { onStray } from '../shared/boundary.ts'
import { chance } from '../shared/chance.ts'
import { clock, useClock } from '../shared/clock.ts'
import { MEMORY } from '../shared/memory.ts'
import { packageFile } from '../shared/package-root.ts'
import { createReservations } from '../store/reservations.ts'
import { openStore } from '../store/sqlite/open-store.ts'
import type { Journal, Spent, StoreOptions } from '../store/store.ts'
import { callsOf, OTHERS, openApiDocument, PASSTHROUGH, READS } from './endpoints.ts'
import { type InForce, putInForce } from './in-force.ts'
import { listen, refuseOpenAccess, stopListening } from './listen.ts'
import { joinFleet, openKeeping, resumeRuns, standingOf, traceCalls } from './optional-parts.ts'
import type { Gateway, GatewayOptions } from './options.ts'
import { createFaults, noteRefusals } from './refused.ts'

export { isLoopback } from './listen.ts'
export type { Gateway, GatewayOptions, Recordings } from './options.ts'

/** Folder of the built page. */
const PAGE_DIRECTORY = pathToFileURL(packageFile('dist/page/'))

/** Starts a gateway. Rejects with StoreError if its data directory is unusable, or if the port is taken. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const leaveClock = useClock(options.clock)
  try {
    const { url, reload, stop } = await compose(options)
    let stopped: Promise<void> | undefined
    const close = (graceMs = 5_000) => (stopped ??= stop(graceMs).finally(leaveClock))
    return { url, reload, close }
  } catch (error) {
    leaveClock()
    throw error
  }
}

/** Joins the parts, in the order in which they need each other. */
async function compose(options: GatewayOptions) {
  const { now } = clock
  const { random = chance.number, replay = false, dialects = DIALECTS } = options
  const context = () => inForce.context
  const { server: bind, telemetry } = options.config
  refuseOpenAccess(options.config, bind.host, replay)
  const inFleet = replay ? undefined : options.config.fleet
  const meters = createMetrics({
    cooling: () => targetStates(context().readContext),
    configurationCurrent: () => inForce.state.state === 'current',
    ...{ writable: () => storeFailure() === null, openings: () => store.openings },
    ...{ droppedSpans: () => traces?.dropped, failingChores: () => upkeep.failing() },
    fleet: () => fleet && { ...standingOf(fleet), fallbacks: fleet.rates.fallbacks },
    ...{ readable: () => store.readFailure === null, heldBytes: () => MEMORY.bytes },
    budgets: () => context().readContext.config.keys.flatMap(accounts.budgetsOf),
  })
  const [slots, readSlots, refusals] = [createCallSlots('calls'), createCallSlots('reads'), createRefusals()]
  const webSockets = createWebSockets()
  const mask = () => context().callContext.mask
  const made = createFaults(options.log ?? SILENT, meters, now, mask)
  const { log, faults, onInternalError, onStrayError } = made
  const [upkeep, feed] = [loggedUpkeep(now, log), createFeed()]
  const server = createHttpServer<ReadContext, CallContext>({
    ...{ reads: READS, calls: [...callsOf(dialects), ...PASSTHROUGH], others: [...OTHERS, ...PAGE], nowhere },
    ...{ context, slots, readSlots, webSockets, now, onInternalError },
    wordingOf: wordingOf(dialects),
    ...{ headersTimeout: bind.headers_timeout, requestTimeout: bind.request_timeout },
    onRefused: noteRefusals(meters, refusals, log, mask),
    onCallOver: (callId) => reservations.forget(callId),
  })
  const directory = directoryOf(options)
  const place = { directory, fleet: inFleet !== undefined, onChore: upkeep.note }
  const store = await openRecord(options, place, log, meters)
  const learned = replay ? NOTHING_LEARNED : openLearned(directory, now, upkeep)
  const routingState = new RoutingState(now)
  const connections = createConnections(options.wire, options.sockets?.connector)
  const reserved = (account: Account) => reservations.reserved(account)
  const joined = { now, log, reserved, store, routingState, onChore: upkeep.note }
  const fleet = inFleet && (await joinFleet(inFleet, options, joined))
  const reservations = createReservations(fleet ?? store)
  const accounts = createAccounts({ store, spentElsewhere: fleet?.spentElsewhere, reserved, now })
  const storeFailure = () => store.failure ?? fleet?.refusal() ?? null
  const traces =
    telemetry && (await traceCalls(telemetry, options.telemetryHeaders, inFleet?.instance, store, log))
  const onUnobserved = (error: unknown) =>
    log.error(errorFields(error, mask()), 'a call could not be logged or counted')
  const watched = watchWrites(reservations, observersOf(meters, feed, log, traces), onUnobserved, mask)
  fleet?.take(watched.write)
  const [calls, runsHere] = [fleet?.reads ?? store.calls, new RunsHere(inFleet?.instance ?? '')]
  const background = new BackgroundRuns({ write: watched.write, context: () => context().callContext })
  const rows = { ...calls, ...(fleet ?? store).kept }
  const { responses, kept } = openKeeping(options, rows, now, onInternalError)
  const inForce: InForce = putInForce({
    ...{ options, dialects, random, log, slots, readSlots, webSockets },
    ...{ routingState, connections, meters, fleet },
    limitsOf: createLimits({
      spent: (account) => accounts.spentBy(account).usd,
      ...{ reserved, reserve: reservations.add, now },
      shared: fleet && { ...fleet.leases, consume: fleet.rates.consume },
    }),
    readParts: {
      ...{ calls, instanceCalls: store.calls, storeFailure, replay, feed },
      fleet: fleet && (() => standingOf(fleet)),
      ...{ readFailure: () => store.readFailure, failingChores: upkeep.failing, faults },
      recordings: options.recordings ?? { list: [], notes: [] },
      about: { version: manifest.version, startedAt: now(), directory: resolve(directory) },
      ...{ budgetUse: accounts.budgetUse, learned: learned.list, refusals: refusals.list },
      ...{ metrics: meters.render, openApi: openApiDocument, kept },
      pageTokens: createPageTokens(now),
      pageFiles: readPage(options.page ?? PAGE_DIRECTORY),
    },
    callParts: {
      ...{ replay, now, learned, responses, kept, background, runsHere, items: new GivenItems() },
      ...{ onFault: onInternalError, tracing: telemetry ?? null },
      store: { ...watched, saveArtifact: store.saveArtifact, calls },
    },
  })
  const ignoreStrays = onStray(onStrayError)
  const { listen: listenTo = () => listen(server, bind) } = options.sockets ?? {}
  const url = await Promise.resolve(listenTo(server)).catch(async (error) => {
    await fleet?.close()
    await store.close()
    ignoreStrays()
    throw error
  })
  resumeRuns(store.background, reservations, background)

  async function stop(graceMs: number): Promise<void> {
    endLive(feed)
    // The WebSockets first: once the requests inside them were cut, their clients would be told of a provider's failure.
    await Promise.all([webSockets.close(graceMs), stopListening(server, graceMs), runsHere.close(graceMs)])
    background.stop()
    await traces?.close()
    await fleet?.close()
    await store.close()
    await connections.destroy()
    ignoreStrays()
  }
  return { url, reload: inForce.reload, stop }
}

/** Returns the targets of all routes with their cooldown state. */
function targetStates({ config, router }: ReadContext) {
  const candidates = Object.keys(config.routes).flatMap((route) => router.resolve(route)!.candidates)
  return candidates.map(({ provider, model, state }) => ({ provider, model, cooling: state === 'cooling' }))
}

/** Replayed calls cost nothing, so their records are separate. A live gateway may run at the same time. */
const directoryOf = ({ replay, config }: GatewayOptions): string =>
  replay ? join(config.data, 'replay') : config.data

/** Returns the observers of all calls. */
const observersOf = (
  meters: Metrics,
  feed: Observer,
  log: Log,
  traces: { ended(call: TracedCall): void } | undefined,
): Observer[] => [
  ...[meters, logCalls(log), warnOfVariables(log), feed],
  ...(traces ? [{ closed: ({ call }: WatchedCall) => traces.ended(call) }] : []),
]

/** Chooses the error format of the dialect that the request's headers reveal. */
const wordingOf =
  (dialects: Dialects) =>
  (headers: IncomingHttpHeaders): ErrorWording =>
    Object.values(dialects).find(({ client }) => client.isSpokenBy?.(headers))?.client ?? PLAIN_WORDING

/** Notes the ends of chores, and logs when one begins to fail or works again. */
const loggedUpkeep = (now: () => number, log: Log): Upkeep =>
  createUpkeep(now, (chore, reason) => {
    if (reason === null) log.info({ chore }, 'a chore of upkeep works again')
    else log.error({ chore, reason }, `a chore of upkeep fails, so ${CHORES[chore]}; calls continue`)
  })

const openLearned = (directory: string, now: () => number, { note }: Upkeep): LearnedRefusals =>
  openLearnedRefusals(directory, now, (reason) => note('store_refusals', reason))

/** Opens the store and logs its failures. */
const openRecord = (
  { config: { durability, retention, artifacts }, onDoubt, threads }: GatewayOptions,
  place: Pick<StoreOptions, 'directory' | 'fleet' | 'onChore'>,
  log: Log,
  meters: Pick<Metrics, 'failed'>,
): Promise<Journal> =>
  openStore({
    ...place,
    ...{ durability, retention, artifacts, threads },
    onFailure: (reason) => log.error({ reason }, 'the request log cannot be written; calls are refused'),
    onDoubt(reason) {
      log.error({ reason }, 'the state of the record is unknown, so every call is refused until a restart')
      onDoubt?.(reason)
    },
    onDeath(reason) {
      meters.failed()
      log.error({ reason }, 'a database thread died; it restarts in one second')
    },
  })

interface AccountsDeps {
  readonly store: Pick<Journal, 'spending' | 'failure'>
  /** Returns the spending of the other instances of a fleet. */
  readonly spentElsewhere: ((account: Account) => Spent) | undefined
  /** Returns US dollars reserved for open calls. */
  readonly reserved: (account: Account) => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface Accounts {
  /** Returns the amount spent at all gateways that share the budget. */
  readonly spentBy: (account: Account) => Spent
  readonly budgetUse: BudgetUse
  /** Returns the metrics of a key's budgets; empty without a budget, or while the record is unreadable. */
  readonly budgetsOf: (key: KeyConfig) => KeyBudget[]
}

const UNKNOWN = { usd: null, estimatedUsd: null, unknownAttempts: null, reservedUsd: null }

function createAccounts({ store, spentElsewhere, reserved, now }: AccountsDeps): Accounts {
  function spentBy(account: Account): Spent {
    const own = store.spending.spent(account)
    const others = spentElsewhere?.(account)
    if (!others) return own
    return {
      usd: own.usd + others.usd,
      estimatedUsd: own.estimatedUsd + others.estimatedUsd,
      unknownAttempts: own.unknownAttempts + others.unknownAttempts,
    }
  }

  const budgetUse: BudgetUse = (keyName, per, sessionId = null) => {
    const period = periodOf(per, now(), sessionId)
    const resetsAt = endOf(per, now())
    if (keyName === null || period === null) return { ...UNKNOWN, resetsAt }
    const account = { keyName, period }
    return { ...spentBy(account), reservedUsd: reserved(account), resetsAt }
  }

  function budgetsOf({ name, budget = [] }: KeyConfig): KeyBudget[] {
    if (store.failure !== null) return []
    return budget.map(({ usd, per }) => {
      const { usd: spent, reservedUsd } = budgetUse(name, per)
      return { key: name, per, budget: usd, spent, reserved: reservedUsd }
    })
  }

  return { spentBy, budgetUse, budgetsOf }
}
