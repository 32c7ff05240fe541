// Everything a call works with. Unlike the context of a read, it can reach a provider.

import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseCache } from '../cache/response-cache.ts'
import type { Config } from '../config/load.ts'
import type { TracingSettings } from '../core/tracing.ts'
import type { KeyGuard } from '../http/key-guard.ts'
import type { KeyLimits } from '../http/limits.ts'
import type { LearnedRefusals } from '../models/learned.ts'
import type { Pricer } from '../pricing/pricing.ts'
import type { Provider } from '../providers/send.ts'
import type { ResponseStore } from '../responses-store/response-store.ts'
import type { Router } from '../routing/router.ts'
import type { Mask } from '../shared/redact.ts'
import type { Store } from '../store/store.ts'
import type { BackgroundRunner } from './background-run.ts'
import type { RunsHere } from './run-here.ts'

export interface CallContext {
  readonly config: Config
  /** Providers answer from recordings. */
  readonly replay: boolean
  readonly router: Router
  readonly store: Pick<Store, 'open' | 'write' | 'saveArtifact'> & {
    readonly calls: Pick<Store['calls'], 'makerOf' | 'objectMakers' | 'find'>
  }
  /** Responses that the gateway keeps; null if it keeps none. */
  readonly responses: ResponseStore | null
  /** Calls that go on at their provider. */
  readonly background: BackgroundRunner
  /** Calls in the background that the gateway itself runs. */
  readonly runsHere: RunsHere
  /** Prices in force when the call arrived: a reload does not change its cost. */
  readonly price: Pricer
  readonly cache: ResponseCache
  /** Limits of the keys: throws if a key has used up its calls for now, or its budget. */
  readonly limits: KeyLimits
  readonly providers: ReadonlyMap<string, Provider>
  /** What providers were seen to refuse. */
  readonly learned: LearnedRefusals
  /** Settings for traces; null if none are made. */
  readonly tracing: TracingSettings | null
  /** Removes the providers' keys from a text. */
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
