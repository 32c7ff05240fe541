// Joins the parts into a running gateway. Used by `serve`, by tests, and by programs that embed it. Over 250 lines, because
// it is the one place where all parts meet.
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher } from 'undici'
import manifest from '../package.json' with { type: 'json' }
import { createResponseCache } from './cache/response-cache.ts'
import { timeOfId } from './call.ts'
import { pairsIn } from './config/otel.ts'
import { needRestart } from './config/restart.ts'
import { type Config, ConfigError, type KeyConfig, type Loaded } from './config.ts'
import { DIALECTS, type Dialects } from './dialects/registry.ts'
import { canTranslate } from './dialects/translate.ts'
import type {
  BudgetUse,
  ConfigurationState,
  FleetStanding,
  ReadContext,
  Recordings,
} from './endpoints/context.ts'
import { endLive } from './endpoints/live.ts'
import { PAGE, readPage } from './endpoints/page.ts'
import { callsOf, OTHERS, openApiDocument, READS } from './endpoints.ts'
import { GatewayError } from './errors.ts'
import type { Fleet } from './fleet/fleet.ts'
import { createAuth } from './http/auth.ts'
import { createCallSlots, defaultBodyBytes } from './http/call-slots.ts'
import { createHostGuard } from './http/host-guard.ts'
import { createLimits, resetOf } from './http/limits.ts'
import { createPageTokens } from './http/page-tokens.ts'
import { createRefusals } from './http/refusals.ts'
import { PLAIN_WORDING } from './http/reply.ts'
import { createHttpServer, type RequestContext } from './http/server.ts'
import { type Log, SILENT } from './log.ts'
import { errorFields, logCalls } from './observe/call-line.ts'
import { createFeed } from './observe/feed.ts'
import { createMetrics, type KeyBudget } from './observe/metrics.ts'
import { type Observer, watchWrites } from './observe/watch.ts'
import type { CallContext } from './pipeline/context.ts'
import { createPricer, pricingOf } from './pricing.ts'
import { createConnections } from './providers/connections.ts'
import { connect, plainLossesIn } from './providers.ts'
import { createMask } from './redact.ts'
import { createRouter } from './routing/router.ts'
import { RoutingState } from './routing/routing-state.ts'
import { createReservations } from './store/reservations.ts'
import { openStore } from './store/sqlite/open-store.ts'
import type { Spent } from './store/store.ts'
import type { TraceExport } from './telemetry/export.ts'
import { plain } from './terminal/clean.ts'

export interface GatewayOptions extends Loaded {
  /**
   * Providers answer from recordings: nothing can be spent, so a public address without keys is let pass, and the
   * record is a database of its own, in `replay` below the data directory.
   */
  readonly replay?: boolean
  /** What they are, for whoever looks. */
  readonly recordings?: Recordings
  /** Milliseconds since the epoch; Date.now by default. */
  readonly now?: () => number
  /** Uniform in [0, 1); Math.random by default. */
  readonly random?: () => number
  /** Sees each exchange with a provider as its bytes go over the wire. */
  readonly wire?: Dispatcher.DispatcherComposeInterceptor
  /** The wire formats that are spoken, by name; all of them by default. */
  readonly dialects?: Dialects
  /** The files of the page; those of the package by default. */
  readonly page?: URL
  /** Where it says what it does; nowhere by default. A pino logger fits. */
  readonly log?: Log
}

export type { Recordings }

export interface Gateway {
  /** Where it listens, for example `http://127.0.0.1:4949`. */
  readonly url: string
  /**
   * Puts the configuration into force that `load` returns; open calls keep the one that they began with. When `load`
   * throws, or what it returns cannot be used, everything stays as it was, and the log and /readyz say so.
   * Returns whether it did.
   */
  reload(load: () => Loaded): boolean
  /** Takes no new calls, waits up to `graceMs` for open ones, commits the record, gives the data directory free. */
  close(graceMs?: number): Promise<void>
}

/** Where the bundler puts the files of the page. */
const PAGE_DIRECTORY = new URL(import.meta.url.endsWith('.ts') ? '../dist/page/' : './page/', import.meta.url)

/** Reads that may be open: one of 200 calls takes some milliseconds of the thread that reads. */
const MOST_READS = 128

/** Starts a gateway. Rejects with StoreError when its data directory cannot be used, or when the port is taken. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { now = Date.now, random = Math.random, log = SILENT, replay = false, dialects = DIALECTS } = options
  refuseOpenAccess(options.config, options.config.server.host, replay)
  const { server: bind, data, durability, retention, artifacts } = options.config
  const inFleet = replay ? undefined : options.config.fleet

  const meters = createMetrics({
    cooling: () => targetStates(context.readContext),
    configurationCurrent: () => configuration.state === 'current',
    writable: () => storeFailure() === null,
    droppedSpans: () => traces?.dropped,
    fleet: () => fleet && { ...standingOf(fleet), fallbacks: fleet.rates.fallbacks },
    readable: () => store.readFailure === null,
    budgets: () => context.readContext.config.keys.flatMap(budgetOf),
  })
  const slots = createCallSlots('calls')
  const readSlots = createCallSlots('reads')
  const refusals = createRefusals()
  const server = createHttpServer({
    reads: READS,
    calls: callsOf(dialects),
    others: [...OTHERS, ...PAGE],
    wordingOf: (headers) =>
      Object.values(dialects).find(({ client }) => client.isSpokenBy?.(headers))?.client ?? PLAIN_WORDING,
    context: () => context,
    headersTimeout: bind.headers_timeout,
    requestTimeout: bind.request_timeout,
    slots,
    readSlots,
    now,
    onRefused({ code, status, message }, { requestId, caller, path }) {
      meters.refused(code)
      if (code === 'client_closed') return // that was the client's own choice
      const createdAt = timeOfId(requestId)
      const keyName = caller?.name ?? null
      refusals.add(
        { id: requestId, createdAt, keyName, endpoint: path, status, code, message },
        caller !== null,
      )
    },
    onInternalError,
    onCallOver: (callId) => reservations.forget(callId),
  })
  const store = await openStore({
    // What was replayed cost nothing, so it must not stand among calls that cost something, nor end their gateway.
    directory: replay ? join(data, 'replay') : data,
    durability,
    retention,
    artifacts,
    now,
    fleet: inFleet !== undefined,
    onFailure: (reason) => log.error({ reason }, 'the request log cannot be written; calls are refused'),
    onDeath(reason) {
      meters.failed()
      log.error({ reason }, 'a database thread died; it restarts in one second')
    },
  })
  const routingState = new RoutingState(now)
  const connections = createConnections(options.wire)
  const fleet = inFleet && (await joinFleet(inFleet, options.fleetUrl!))
  const reservations = createReservations(fleet?.write ?? store.write)
  const limitsOf = createLimits({
    spent: (keyName, at) => spentBy(keyName, at).usd,
    reserved: reservations.reserved,
    reserve: reservations.add,
    now,
    shared: fleet && { ...fleet.leases, consume: fleet.rates.consume },
  })
  let configuration: ConfigurationState = { state: 'current', since: now() }
  const startedAt = now()
  const feed = createFeed()
  const pageTokens = createPageTokens(now)
  const pageFiles = readPage(options.page ?? PAGE_DIRECTORY)
  const traces = options.config.telemetry && (await traceCalls(options.config.telemetry))
  const observers: Observer[] = [meters, logCalls(log), feed]
  if (traces) observers.push({ closed: ({ call }) => traces.ended(call) })
  for (const call of traces ? store.interrupted : []) traces!.ended(call)
  const write = watchWrites(reservations.write, observers, (error) =>
    log.error(errorFields(error, context.callContext.mask), 'a call could not be logged or counted'),
  )
  let context = buildContext(options)

  /** Everything that follows from a configuration. What an earlier one filled is kept where nothing changed about it. */
  function buildContext(
    { config, secrets }: Loaded,
    before?: CallContext,
  ): RequestContext<ReadContext, CallContext> {
    const same = (...settings: (keyof Config)[]) =>
      settings.every((name) => isDeepStrictEqual(before?.config[name], config[name]))
    const router = createRouter(config, { now, random, routingState, canTranslate: canTranslate(dialects) })
    const mask = createMask([
      ...secrets.values(),
      ...secretsIn(options.fleetUrl),
      ...headerValuesIn(options.telemetryHeaders),
    ])
    const price = createPricer(pricingOf(config))
    meters.configure(config)
    const { max_calls: calls, body_limit: oneBody, max_body_bytes: bodyBytes } = config.server
    const shared = config.keys.length > 1
    if (!same('keys')) pageTokens.clear()
    readSlots.configure({ calls: MOST_READS, bodyBytes: 0, oneBody: 0, shared })
    slots.configure({
      calls,
      oneBody,
      bodyBytes: Math.max(bodyBytes ?? defaultBodyBytes(oneBody), oneBody),
      shared,
    })
    return {
      readContext: {
        config,
        router,
        plainLosses: plainLossesIn(config, dialects),
        calls: fleet?.reads ?? store.calls,
        instanceCalls: store.calls,
        fleet: fleet && (() => standingOf(fleet)),
        storeFailure,
        readFailure: () => store.readFailure,
        configuration: () => configuration,
        replay,
        recordings: options.recordings ?? { list: [], notes: [] },
        about: { version: manifest.version, startedAt },
        budgetUse,
        refusals: refusals.list,
        metrics: meters.render,
        openApi: openApiDocument,
        feed,
        pageTokens,
        pageFiles,
      },
      callContext: {
        config,
        replay,
        router,
        store: { write, saveArtifact: store.saveArtifact, calls: fleet?.reads ?? store.calls },
        price,
        cache: before && same('cache', 'providers') ? before.cache : createResponseCache(config.cache, now),
        limits: limitsOf(replay ? config.keys.map(withoutBudget) : config.keys, price),
        providers: connect(config, secrets, dialects, connections),
        tracing: options.config.telemetry ?? null,
        mask,
        now,
        onFault: onInternalError,
      },
      authenticate: createAuth(config.keys, pageTokens),
      guard: createHostGuard(bind.host, config.server.allowed_hosts, config.server.allowed_origins),
      idle: config.resilience.idle,
    }
  }

  /** Loads what only a gateway among several needs. */
  async function joinFleet(settings: NonNullable<Config['fleet']>, url: string): Promise<Fleet> {
    const { openFleet } = await import('./fleet/fleet.ts')
    const { instance, tls, ca, days, spool, rate_fallback: rateFallback } = settings
    try {
      return await openFleet({
        ...{ url, tls, ca, days, spool, rateFallback, now, log, journal: store, version: manifest.version },
        name: instance ?? `${hostname()}-${bind.port}`.replaceAll(/[^\w.-]/g, '-'),
        shared: durability === 'shared',
        config: options.config,
        reserved: (keyName) => reservations.reserved(keyName),
        failedTargets: () => routingState.takeFailed(),
        cool: (target, ms) => routingState.coolAlong(target, ms),
      })
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** Loads what only traces need. */
  async function traceCalls(settings: NonNullable<Config['telemetry']>): Promise<TraceExport> {
    const { startTraceExport } = await import('./telemetry/export.ts')
    const { endpoint, traces_endpoint: tracesEndpoint, service, attributes, content } = settings
    return startTraceExport({
      ...{ endpoint, tracesEndpoint, service, attributes, content, tracing: settings },
      ...{ version: manifest.version, calls: store.calls },
      instance: inFleet?.instance ?? hostname(),
      headers: options.telemetryHeaders,
      onFailure: (reason) =>
        reason === null
          ? log.info({}, 'the collector accepts traces again')
          : log.warn({ reason }, 'the collector does not accept traces; calls continue'),
    })
  }

  /** What counts of a key's budget in the month of a moment, at all gateways that share it. */
  function spentBy(keyName: string, at: number): Spent {
    const own = store.spending.spent(keyName, at)
    const others = fleet?.spentElsewhere(keyName)
    return others ? { usd: own.usd + others.usd, estimatedUsd: own.estimatedUsd + others.estimatedUsd } : own
  }

  /** Why no call can be taken, or recorded. */
  function storeFailure(): string | null {
    return store.failure ?? fleet?.refusal() ?? null
  }

  function budgetUse(keyName: string | null): BudgetUse {
    const resetsAt = resetOf(now())
    if (keyName === null) return { usd: null, estimatedUsd: null, reservedUsd: null, resetsAt }
    return { ...spentBy(keyName, now()), reservedUsd: reservations.reserved(keyName), resetsAt }
  }

  function budgetOf({ name, budget }: KeyConfig): KeyBudget[] {
    if (!budget || store.failure !== null) return []
    const { usd, reservedUsd } = budgetUse(name)
    return [{ key: name, budget: budget.usd, spent: usd!, reserved: reservedUsd! }]
  }

  /** Without a stack if the request log failed: a full disk refuses calls by the thousand. */
  function onInternalError(error: unknown, requestId: string): void {
    meters.failed()
    const { mask } = context.callContext
    const cause = error instanceof GatewayError ? (error.cause ?? error) : error
    if (error instanceof GatewayError && error.code === 'log_unavailable')
      log.error(
        { request_id: requestId, reason: mask(cause instanceof Error ? cause.message : String(cause)) },
        'the request log failed',
      )
    else log.error({ request_id: requestId, ...errorFields(cause, mask) }, 'internal error')
  }
  try {
    await new Promise<void>((done, fail) => server.once('error', fail).listen(bind.port, bind.host, done))
  } catch (cause) {
    await fleet?.close()
    await store.close()
    throw cannotListen(bind.host, bind.port, cause as NodeJS.ErrnoException)
  }
  const address = server.address() as AddressInfo

  async function stop(graceMs: number): Promise<void> {
    const closed = new Promise((done) => server.close(done))
    endLive(feed)
    // A connection whose call ends only now would stay open for the next one.
    const idle = setInterval(() => server.closeIdleConnections(), 50)
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs)
    await closed
    clearInterval(idle)
    clearTimeout(cutOff)
    await traces?.close()
    await fleet?.close()
    await store.close()
    await connections.destroy()
  }
  let stopped: Promise<void> | undefined

  return {
    url: `http://${bind.host.includes(':') ? `[${bind.host}]` : bind.host}:${address.port}`,
    reload(load) {
      try {
        const { config, secrets } = load()
        refuseOpenAccess(config, bind.host, replay)
        context = buildContext({ config, secrets }, context.callContext)
        configuration = { state: 'current', since: now() }
        fleet?.configured(config)
        const restart = needRestart(options.config, config)
        log.info({ routes: Object.keys(config.routes).length }, 'the configuration was reloaded')
        if (restart.length > 0)
          log.warn(
            { settings: restart },
            'these settings take effect after a restart; the others are in force',
          )
        return true
      } catch (error) {
        const problems = error instanceof ConfigError ? error.problems : [(error as Error).message]
        configuration = { state: 'rejected', since: now() }
        log.error(
          { problems: problems.map(plain) },
          'the configuration was rejected; the previous one stays in force',
        )
        return false
      }
    },
    close(graceMs = 5_000) {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}

/** A gateway that anyone can reach and use would spend the operator's money. */
function refuseOpenAccess({ keys }: Config, host: string, replay: boolean): void {
  if (keys.length === 0 && !isLoopback(host) && !replay)
    throw new Error(
      `refusing to listen on ${host} without keys: add keys to the configuration, or listen on 127.0.0.1`,
    )
}

/** What of the address of the shared log must not be told: the whole of it, and the password in it. */
function secretsIn(url: string | undefined): string[] {
  const password = url && /^\w+:\/\/[^:@/]*:([^@/]+)@/.exec(url)?.[1]
  return [url, password, password && decodeURIComponent(password)].filter(
    (secret) => secret !== undefined && secret !== '',
  ) as string[]
}

const headerValuesIn = (headers = ''): string[] =>
  Object.values(pairsIn(headers)).filter((value) => value.length > 5)

/** What is replayed costs nothing. */
const withoutBudget = ({ budget: _, ...key }: KeyConfig): KeyConfig => key

const standingOf = ({ name, instances, backlog, failure }: Fleet): FleetStanding => ({
  instance: name,
  instances: instances.length,
  backlog,
  failure: failure(),
})

/** The targets of all routes, and which are being passed over. */
function targetStates({ config, router }: ReadContext) {
  const candidates = Object.keys(config.routes).flatMap((route) => router.resolve(route)!.candidates)
  return candidates.map(({ provider, model, state }) => ({ provider, model, cooling: state === 'cooling' }))
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): Error {
  const [reason, remedy] =
    cause.code === 'EADDRINUSE'
      ? [
          'the port is already in use',
          'stop the program that uses it, or choose another port with --port or server.port',
        ]
      : cause.code === 'EACCES'
        ? ['this user is not allowed to', 'choose a port above 1023']
        : [cause.message, 'check server.host and server.port']
  return new Error(`cannot listen on ${host}, port ${port}: ${reason}; ${remedy}`, { cause })
}

/** Whether only this machine can reach a server that listens there. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)
