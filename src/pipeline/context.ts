// What a call works with. Unlike the context of a read, it holds a way to reach a provider.
import type { ResponseCache } from '../cache/response-cache.ts'
import type { Config } from '../config.ts'
import type { KeyLimits } from '../http/limits.ts'
import type { Pricer } from '../pricing.ts'
import type { Provider } from '../providers/send.ts'
import type { Mask } from '../redact.ts'
import type { Router } from '../routing/router.ts'
import type { Store } from '../store/store.ts'
import type { TracingSettings } from '../tracing.ts'

export interface CallContext {
  readonly config: Config
  /** Providers answer from recordings. */
  readonly replay: boolean
  readonly router: Router
  readonly store: Pick<Store, 'write' | 'saveArtifact'> & {
    readonly calls: Pick<Store['calls'], 'providerOf'>
  }
  /** By the price table that was in force when the call arrived: a reload meanwhile changes nothing about its cost. */
  readonly price: Pricer
  readonly cache: ResponseCache
  /** Of the keys: throws when one has made its calls for now, or spent its money for the month. */
  readonly limits: KeyLimits
  readonly providers: ReadonlyMap<string, Provider>
  /** How calls become traces; null where they do not. */
  readonly tracing: TracingSettings | null
  /** Takes the providers' keys out of a text. */
  readonly mask: Mask
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Hears of a failure of the gateway's own. */
  readonly onFault: (error: unknown, requestId: string) => void
}
