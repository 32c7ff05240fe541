// Dependencies of read endpoints. Nothing among these dependencies reaches a provider. For calls:
// call/context.ts.

import type { Config } from '../config/load.ts'
import type { Target } from '../core/call.ts'
import type { Period } from '../core/period.ts'
import type { ChoreFailure } from '../core/upkeep.ts'
import type { PageTokens } from '../http/caller.ts'
import type { OpenApi } from '../http/openapi.ts'
import type { Refusals } from '../http/refusals.ts'
import type { Facts } from '../models/facts.ts'
import type { LearnedRefusal } from '../models/learned.ts'
import type { Feed } from '../observe/watch.ts'
import type { Router } from '../routing/router.ts'
import type { WhatIf } from '../routing/what-if.ts'
import type { KeptCalls } from '../store/kept.ts'
import type { Reads } from '../store/reads.ts'
import type { RecordingSummary } from './schemas.ts'

/** State of the configuration file, current or rejected, and the time since which it applies. */
export interface ConfigurationState {
  readonly state: 'current' | 'rejected'
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** Returns the spending of a key in the current period, or in a session. */
export type BudgetUse = (keyName: string | null, per: Period, sessionId?: string | null) => PeriodUse

/** Amounts in US dollars; null without a key, or without a session. */
export interface PeriodUse {
  /** Spending that counts against the budget, and the unreported part of this spending. */
  readonly usd: number | null
  readonly estimatedUsd: number | null
  /** Attempts whose cost is neither known nor estimated. */
  readonly unknownAttempts: number | null
  /** Amount reserved for open calls. */
  readonly reservedUsd: number | null
  /** End of the period, ms since the epoch; null for a session. */
  readonly resetsAt: number | null
}

/** Recordings from which a replaying gateway answers, and lines about them for a person. */
export interface Recordings {
  readonly list: readonly RecordingSummary[]
  readonly notes: readonly string[]
}

export interface PageFile {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
}

/** State of a gateway relative to the other gateways that share its log. */
export interface FleetStanding {
  readonly instance: string
  /** Live instances, including this one; 0 while the shared log is unreachable. */
  readonly instances: number
  /** Calls that the shared log has not stored yet. */
  readonly backlog: number
  /** Reason why the shared log does not accept them at present; null if it does. */
  readonly failure: string | null
}

export interface ReadContext {
  readonly config: Config
  readonly router: Pick<Router, 'resolve'>
  /** Losses when a plain call is translated for a target, by the client's dialect. */
  readonly plainLosses: (
    target: Pick<Target, 'provider' | 'model'>,
  ) => Readonly<Record<string, readonly string[]>>
  /** Facts about a configured model, `provider/model`. */
  readonly factsOf: (id: string) => Facts
  /**
   * Begins to reprice the record on a route, or on a `provider/model`; null if there is no such model. `direct`:
   * also reprices calls that named a fixed model.
   */
  readonly whatIf: (route: string, direct: boolean) => WhatIf | null
  /** Parameters that providers have refused. */
  readonly learned: () => readonly LearnedRefusal[]
  /** Calls of all gateways that share a log. */
  readonly calls: Reads
  /** Calls of this gateway; without a fleet, the same reads as above. */
  readonly instanceCalls: Reads
  /** State of this gateway in its fleet; absent for a single gateway. */
  readonly fleet: (() => FleetStanding) | undefined
  /** Calls whose bodies are kept; null without a key to encrypt them. */
  readonly kept: Pick<KeptCalls, 'find' | 'has' | 'remove'> | null
  /** Reason why calls cannot be recorded at present; null if they can. */
  readonly storeFailure: () => string | null
  /** Reason why the request log cannot be read at present; null if it can. */
  readonly readFailure: () => string | null
  /** Faults of the gateway itself since its start, and the time of the last one, ms since the epoch. */
  readonly faults: { readonly count: number; readonly last: number }
  /** Chores of upkeep that failed the last time. */
  readonly failingChores: () => readonly ChoreFailure[]
  readonly configuration: () => ConfigurationState
  /** True if providers answer from recordings. */
  readonly replay: boolean
  /** Recordings from which they answer. */
  readonly recordings: Recordings
  /** The gateway itself. `directory` contains its record; times are in ms since the epoch. */
  readonly about: { readonly version: string; readonly startedAt: number; readonly directory: string }
  /** Returns the spending. Throws `log_unavailable` if the log cannot be read. */
  readonly budgetUse: BudgetUse
  /** Newest calls that were refused before they had a record, of one key or of all. */
  readonly refusals: Refusals['list']
  /** Returns all metrics in Prometheus' text format. */
  readonly metrics: () => string
  /** Returns the OpenAPI document, see `http/openapi.ts`. */
  readonly openApi: () => OpenApi
  /** Live events of calls. */
  readonly feed: Pick<Feed, 'listen'>
  readonly pageTokens: PageTokens
  /** Files of the page by name; null if the page was not built. */
  readonly pageFiles: () => ReadonlyMap<string, PageFile> | null
}
