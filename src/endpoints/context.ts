// What endpoints work with. The two contexts differ in one thing: only a call endpoint can reach a provider.

import type { ResponseCache } from '../cache/response-cache.ts'
import type { Config } from '../config.ts'
import type { KeyLimits } from '../http/limits.ts'
import type { OpenApi } from '../http/openapi.ts'
import type { Pricer } from '../pricing.ts'
import type { Provider } from '../providers/send.ts'
import type { Mask } from '../redact.ts'
import type { Router } from '../routing/router.ts'
import type { Reads } from '../store/reads.ts'
import type { Store } from '../store/store.ts'

/** Whether the configuration in the file is the one in force, and since when that is known. */
export interface ConfigurationState {
  readonly state: 'current' | 'rejected'
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** US dollars; null without a key. */
export interface BudgetUse {
  /** What counts of the budget in this month, and the part of it that nobody reported. */
  readonly usd: number | null
  readonly estimatedUsd: number | null
  /** What is set aside for open calls. */
  readonly reservedUsd: number | null
  /** When the month ends, ms since the epoch. */
  readonly resetsAt: number
}

export interface ReadContext {
  readonly config: Config
  readonly router: Pick<Router, 'resolve'>
  readonly calls: Reads
  /** Why calls cannot be recorded right now; null when they can. */
  readonly storeFailure: () => string | null
  /** Why the request log cannot be read right now; null when it can. */
  readonly readFailure: () => string | null
  readonly configuration: () => ConfigurationState
  /** Providers answer from recordings. */
  readonly replay: boolean
  /** Throws `log_unavailable` when it cannot be read. */
  readonly budgetUse: (keyName: string | null) => BudgetUse
  /** All figures in Prometheus' text format. */
  readonly metrics: () => Promise<string>
  /** The interface, see `http/openapi.ts`. */
  readonly openApi: OpenApi
}

export interface CallContext {
  readonly config: Config
  /** Providers answer from recordings. */
  readonly replay: boolean
  readonly router: Router
  readonly store: Pick<Store, 'write' | 'saveArtifact'>
  /** By the price table that was in force when the call arrived: a reload meanwhile changes nothing about its cost. */
  readonly price: Pricer
  readonly cache: ResponseCache
  /** Of the keys: throws when one has made its calls for now, or spent its money for the month. */
  readonly limits: KeyLimits
  readonly providers: ReadonlyMap<string, Provider>
  /** Takes the providers' keys out of a text. */
  readonly mask: Mask
  /** Milliseconds since the epoch. */
  readonly now: () => number
}
