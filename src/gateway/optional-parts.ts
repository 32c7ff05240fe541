// Optional parts, loaded only if configured: a fleet's shared log and the export of traces.
import { hostname } from 'node:os'
import manifest from '../../package.json' with { type: 'json' }
import type { BackgroundRuns } from '../call/background.ts'
import type { Config } from '../config/load.ts'
import type { Log } from '../core/process-log.ts'
import { dialectAt } from '../dialects/registry.ts'
import type { FleetStanding } from '../endpoints/context.ts'
import type { Fleet, FleetOptions } from '../fleet/fleet.ts'
import {
  createKeptCalls,
  createResponseStore,
  createSealer,
  type ResponseStoreOptions,
} from '../responses-store/response-store.ts'
import type { RoutingState } from '../routing/routing-state.ts'
import type { KeptCalls, ResponseStore } from '../store/kept.ts'
import type { Reservations } from '../store/reservations.ts'
import type { Journal } from '../store/store.ts'
import type { TraceExport } from '../telemetry/export.ts'
import type { GatewayOptions } from './options.ts'

interface FleetDeps extends Pick<FleetOptions, 'now' | 'log' | 'reserved' | 'onChore'> {
  readonly store: Journal
  readonly routingState: RoutingState
}

/** Joins the fleet. If that fails, closes the store. */
export async function joinFleet(
  settings: NonNullable<Config['fleet']>,
  { config, fleetUrl }: GatewayOptions,
  { now, log, reserved, store, routingState, onChore }: FleetDeps,
): Promise<Fleet> {
  const { openFleet } = await import('../fleet/fleet.ts')
  const { instance, tls, ca, days, spool, rate_fallback: rateFallback } = settings
  try {
    return await openFleet({
      ...{ url: fleetUrl!, tls, ca, days, spool, rateFallback, now, log, journal: store, config, reserved },
      onChore,
      version: manifest.version,
      name: instance ?? `${hostname()}-${config.server.port}`.replaceAll(/[^\w.-]/g, '-'),
      shared: config.durability === 'shared',
      failedTargets: () => routingState.takeFailed(),
      cool: (target, ms) => routingState.coolAlong(target, ms),
      conversations: routingState.conversations,
    })
  } catch (error) {
    await store.close()
    throw error
  }
}

export const standingOf = ({ name, instances, backlog, failure }: Fleet): FleetStanding => ({
  instance: name,
  instances: instances.length,
  backlog,
  failure: failure(),
})

/** Returns the operation name for traces by the call's endpoint. */
const operationOf = (endpoint: string): string => dialectAt(endpoint)?.client.operation ?? 'chat'

/** Starts the export of traces, including traces of calls that an earlier run left open. */
export async function traceCalls(
  settings: NonNullable<Config['telemetry']>,
  headers: string | undefined,
  instance: string | undefined,
  store: Journal,
  log: Log,
): Promise<TraceExport> {
  const { startTraceExport } = await import('../telemetry/export.ts')
  const {
    endpoint,
    traces_endpoint: tracesEndpoint,
    service,
    attributes,
    content,
    proposed_cost: proposedCost,
  } = settings
  const traces = startTraceExport({
    ...{ endpoint, tracesEndpoint, service, attributes, content, proposedCost, tracing: settings, headers },
    ...{ version: manifest.version, calls: store.calls, operationOf },
    instance: instance ?? hostname(),
    onFailure: (reason) =>
      reason === null
        ? log.info({}, 'the collector accepts traces again')
        : log.warn({ reason }, 'the collector does not accept traces; calls continue'),
  })
  for (const call of store.interrupted) traces.ended(call)
  return traces
}

/** Opens the stores of responses and of kept calls; null for one that is not configured, or has no encryption key. */
export function openKeeping(
  { config, responsesKey }: GatewayOptions,
  rows: ResponseStoreOptions['rows'],
  now: () => number,
  onFault: (error: unknown, callId: string) => void,
): { readonly responses: ResponseStore | null; readonly kept: KeptCalls | null } {
  if (responsesKey === undefined) return { responses: null, kept: null }
  const sealer = createSealer(responsesKey)
  const { store } = config.responses
  return {
    responses: store.enabled ? createResponseStore({ rows, sealer, days: store.days, now }) : null,
    kept: createKeptCalls({ rows, sealer, days: config.keep.days, now, onFault }),
  }
}

/** Resumes calls that an earlier gateway left running at their providers, and restores their reservations. */
export function resumeRuns(
  calls: Journal['background'],
  reservations: Pick<Reservations, 'resume'>,
  background: Pick<BackgroundRuns, 'start'>,
): void {
  for (const { id: callId, run, keyName, sessionId, usd } of calls) {
    if (keyName !== null && usd !== null)
      reservations.resume({ callId, keyName, sessionId, usd, costAt: () => usd })
    background.start({ ...JSON.parse(run), keyName })
  }
}
