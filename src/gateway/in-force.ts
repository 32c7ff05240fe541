// The active configuration with everything derived from it. A reload replaces it as a whole or not at all.
import { isDeepStrictEqual } from 'node:util'
import { createResponseCache } from '../cache/response-cache.ts'
import type { CallContext } from '../call/context.ts'
import { createPlans } from '../call/plan.ts'
import { type Config, type KeyConfig, type Loaded, needRestart } from '../config/load.ts'
import { pairsIn } from '../config/otel.ts'
import { ConfigError } from '../core/errors.ts'
import type { Log } from '../core/process-log.ts'
import { CredentialMemory } from '../credentials/key-pool.ts'
import type { Dialects } from '../dialects/registry.ts'
import { canTranslate, defaultOutput } from '../dialects/translate.ts'
import type { ConfigurationState, ReadContext } from '../endpoints/context.ts'
import { createAuth } from '../http/auth.ts'
import type { CallSlots } from '../http/call-slots.ts'
import { createClientOf } from '../http/client.ts'
import { createHostGuard, createKeyGuard } from '../http/guards.ts'
import type { createLimits } from '../http/limits.ts'
import type { RequestContext } from '../http/server.ts'
import type { WebSockets } from '../http/web-sockets.ts'
import type { Metrics } from '../observe/metrics.ts'
import { createPricer, pricingOf } from '../pricing/pricing.ts'
import type { Connections } from '../providers/connections.ts'
import { createRouter } from '../routing/router.ts'
import type { RoutingState } from '../routing/routing-state.ts'
import { MEMORY, memoryLimits } from '../shared/memory.ts'
import { createGrowingMask } from '../shared/redact.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { refuseOpenAccess } from './listen.ts'
import type { GatewayOptions } from './options.ts'
import { connect, factsIn, isForAccountBy, plainLossesIn, whatIfIn } from './providers.ts'

/** Maximum number of open reads. A read of 200 calls occupies the reading thread for some milliseconds. */
const MAX_READS = 128

/** Maximum lifetime of a client's WebSocket, equal to OpenAI's, ms. */
const SOCKET_LIFE_MS = 60 * 60_000

interface InForceDeps {
  readonly options: GatewayOptions
  readonly dialects: Dialects
  readonly random: () => number
  readonly log: Log
  readonly slots: CallSlots
  readonly readSlots: CallSlots
  readonly webSockets: Pick<WebSockets, 'configure'>
  readonly routingState: RoutingState
  readonly connections: Connections
  readonly limitsOf: ReturnType<typeof createLimits>
  readonly meters: Pick<Metrics, 'configure'>
  readonly fleet: { configured(config: object): void } | undefined
  /** Parts of a context that survive a reload. */
  readonly readParts: Omit<
    ReadContext,
    'config' | 'router' | 'plainLosses' | 'factsOf' | 'whatIf' | 'configuration'
  >
  readonly callParts: Pick<
    CallContext,
    | 'replay'
    | 'store'
    | 'responses'
    | 'kept'
    | 'items'
    | 'background'
    | 'runsHere'
    | 'tracing'
    | 'learned'
    | 'now'
    | 'onFault'
  >
}

export interface InForce {
  readonly context: RequestContext<ReadContext, CallContext>
  readonly state: ConfigurationState
  /** Reloads the configuration, see `reload` of a gateway. */
  reload(load: () => Loaded): boolean
}

export function putInForce(given: InForceDeps): InForce {
  const deps = { ...given, memory: new CredentialMemory() }
  const { options, log, callParts } = deps
  const { now, replay } = callParts
  let state: ConfigurationState = { state: 'current', since: now() }
  let context = contextOf(options, deps, () => state)
  return {
    get context() {
      return context
    },
    get state() {
      return state
    },
    reload(load) {
      try {
        const { config, secrets, proxies } = load()
        refuseOpenAccess(config, options.config.server.host, replay)
        if (config.keys.length === 0 && context.callContext.config.keys.length > 0 && !replay)
          throw new Error('keys: are missing now; a file may be half written. Restart to serve without keys')
        context = contextOf({ config, secrets, proxies }, deps, () => state, context.callContext)
        state = { state: 'current', since: now() }
        deps.fleet?.configured(config)
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
        state = { state: 'rejected', since: now() }
        log.error(
          { problems: problems.map(cleanLabel) },
          'the configuration was rejected; the previous one stays in force',
        )
        return false
      }
    },
  }
}

/** Builds the context of requests. Reuses the state of `before` where nothing has changed. */
function contextOf(
  { config, secrets, proxies }: Loaded,
  deps: InForceDeps & { readonly memory: CredentialMemory },
  configuration: () => ConfigurationState,
  before?: CallContext,
): RequestContext<ReadContext, CallContext> {
  const { options, dialects, random, routingState, connections, memory, readParts, callParts } = deps
  const { now, replay } = callParts
  const { pageTokens } = readParts
  const same = (...settings: (keyof Config)[]) =>
    settings.every((name) => isDeepStrictEqual(before?.config[name], config[name]))
  const factsOf = factsIn(config)
  const router = createRouter(config, {
    ...{ now, random, routingState },
    canTranslate: canTranslate(dialects),
    isForAccount: isForAccountBy(factsOf),
  })
  const mask = createGrowingMask([
    ...secrets.values(),
    ...secretsIn(options.fleetUrl),
    ...(options.responsesKey ? [options.responsesKey] : []),
    ...headerValuesIn(options.telemetryHeaders),
    ...[proxies?.http, proxies?.https].filter((url) => url?.includes('@')).flatMap(secretsIn),
  ])
  const price = createPricer(pricingOf(config))
  deps.meters.configure(config)
  const keyGuard = createKeyGuard(config.keys, pageTokens)
  if (!same('keys')) pageTokens.clear()
  makeRoom(config, deps)
  const learning = { secrets, memory, learn: mask.learn, now }
  const providers = connect(config, learning, dialects, connections, proxies)
  const mayBePlain = options.plainCalls !== false && !callParts.tracing
  return {
    readContext: {
      config,
      router,
      plainLosses: plainLossesIn(config, dialects),
      factsOf,
      whatIf: whatIfIn(config, dialects),
      configuration,
      ...readParts,
    },
    callContext: {
      config,
      router,
      price,
      cache: before && same('cache', 'providers') ? before.cache : createResponseCache(config.cache, now),
      limits: deps.limitsOf(replay ? config.keys.map(withoutBudget) : config.keys, price, (provider) =>
        defaultOutput(dialects, config.providers[provider]?.dialect ?? []),
      ),
      providers,
      plans: mayBePlain ? createPlans({ config, router, providers, replay }) : null,
      mask,
      clientOf: createClientOf(mask),
      keyGuard,
      keptKeys: new Set(config.keys.flatMap(({ name, keep }) => (keep ? [name] : []))),
      ...callParts,
    },
    authenticate: createAuth(
      config.keys,
      pageTokens,
      Object.values(config.providers).some(({ auth }) => auth === 'caller'),
    ),
    guard: createHostGuard(
      options.config.server.host,
      config.server.allowed_hosts,
      config.server.allowed_origins,
    ),
    keyGuard,
    idle: config.resilience.idle,
  }
}

/** Sets the limits for open calls, open reads, sockets, and the memory that they may hold. */
function makeRoom(
  { server, keys, responses }: Config,
  { slots, readSlots, webSockets }: Pick<InForceDeps, 'slots' | 'readSlots' | 'webSockets'>,
) {
  const { max_calls: calls, body_limit: oneBody, memory } = server
  const shared = keys.length > 1
  MEMORY.configure(memoryLimits(oneBody, shared, memory))
  readSlots.configure({ calls: MAX_READS, shared })
  slots.configure({ calls, shared })
  const { max_sockets: sockets, socket_idle: idle } = responses
  webSockets.configure(
    responses.websocket === 'off' ? null : { sockets, idle, life: SOCKET_LIFE_MS, bytes: oneBody, shared },
  )
}

/** Returns the secrets in the shared log's address: the whole address and its password. */
function secretsIn(url: string | undefined): string[] {
  const password = url && /^\w+:\/\/[^:@/]*:([^@/]+)@/.exec(url)?.[1]
  return [url, password, password && decodeURIComponent(password)].filter(
    (secret) => secret !== undefined && secret !== '',
  ) as string[]
}

const headerValuesIn = (headers = ''): string[] =>
  Object.values(pairsIn(headers)).filter((value) => value.length > 5)

/** Returns a key without its budget, for replay, where calls cost nothing. */
const withoutBudget = ({ budget: _, ...key }: KeyConfig): KeyConfig => key
