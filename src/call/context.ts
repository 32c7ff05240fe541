// Dependencies of a call. Unlike the context of a read, they include connections to providers. Also the form in which a
// call survives a restart that continues at its provider after the first answer to the client.
import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseCache } from '../cache/response-cache.ts'
import type { Config } from '../config/load.ts'
import type { TracingSettings } from '../core/tracing.ts'
import type { KeyGuard } from '../http/guards.ts'
import type { KeyLimits } from '../http/limits.ts'
import type { LearnedRefusals } from '../models/learned.ts'
import type { Pricer } from '../pricing/pricing.ts'
import type { Provider } from '../providers/send.ts'
import type { Router } from '../routing/router.ts'
import type { Mask } from '../shared/redact.ts'
import type { KeptCalls, ResponseStore } from '../store/kept.ts'
import type { Store } from '../store/store.ts'
import type { Write } from '../store/writes.ts'
import type { GivenItems } from './given-items.ts'
import type { Plans } from './plan.ts'
import type { RunsHere } from './run-here.ts'

export interface BackgroundRun {
  /** The end of the call, still without usage. */
  readonly closing: Extract<Write, { kind: 'close' }>
  /** Dialect of the call and of the provider. */
  readonly dialect: string
  readonly responseId: string
  /** Key of the call. */
  readonly keyName: string | null
}

export interface BackgroundRunner {
  /** Starts polling for a recorded run. */
  start(run: BackgroundRun): void
  /**
   * Processes an answer that the client requested. Another provider, or another key, may have the same id for another
   * run. `isCancelled`: true if the client has just cancelled the run.
   */
  received(
    run: Pick<BackgroundRun, 'responseId' | 'keyName'> & { readonly provider: string },
    text: string,
    isCancelled: boolean,
  ): void
}

export interface CallContext {
  readonly config: Config
  /** True if providers answer from recordings. */
  readonly replay: boolean
  readonly router: Router
  readonly store: Pick<Store, 'open' | 'write' | 'saveArtifact'> & {
    readonly calls: Pick<Store['calls'], 'makerOf' | 'objectMakers' | 'find'>
  }
  /** Responses that the gateway stores; null if it stores none. */
  readonly responses: ResponseStore | null
  /** Calls whose bodies are kept; null without a key to encrypt them. */
  readonly kept: KeptCalls | null
  /** Names of the gateway keys whose calls are kept. */
  readonly keptKeys: ReadonlySet<string | null>
  /** Items of answers that clients may name instead of sending them. */
  readonly items: GivenItems
  /** Background calls that continue at their provider. */
  readonly background: BackgroundRunner
  /** Background calls that the gateway itself runs. */
  readonly runsHere: RunsHere
  /** Prices at the time when the call arrived. A reload does not change the cost of the call. */
  readonly price: Pricer
  readonly cache: ResponseCache
  /** Limits of the keys. Throws if a key has used up its budget or reached its rate limit. */
  readonly limits: KeyLimits
  readonly providers: ReadonlyMap<string, Provider>
  /** Finds the plans of plain calls; null if all calls take the general way. */
  readonly plans: Plans | null
  /** Refusals learned from providers. */
  readonly learned: LearnedRefusals
  /** Settings for traces; null if tracing is off. */
  readonly tracing: TracingSettings | null
  /** Masks the providers' keys in a string. */
  readonly mask: Mask
  /** Returns the program that made the call, from its headers. */
  readonly clientOf: (headers: IncomingHttpHeaders) => string | null
  /** Throws if a header for a provider holds a gateway key. */
  readonly keyGuard: Pick<KeyGuard, 'forwarded'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called when the gateway itself fails. */
  readonly onFault: (error: unknown, requestId: string) => void
}
