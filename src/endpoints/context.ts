// What read endpoints work with: no way to reach a provider is in it. What a call works with: pipeline/context.ts.
import type { Target } from '../call.ts'
import type { Config } from '../config.ts'
import type { OpenApi } from '../http/openapi.ts'
import type { PageTokens } from '../http/page-tokens.ts'
import type { Refusals } from '../http/refusals.ts'
import type { Feed } from '../observe/feed.ts'
import type { Router } from '../routing/router.ts'
import type { Reads } from '../store/reads.ts'
import type { RecordingSummary } from './recordings.ts'

/** Whether the configuration in the file is the one in force, and since when that is known. */
export interface ConfigurationState {
  readonly state: 'current' | 'rejected'
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** US dollars; null without a key. */
export interface BudgetUse {
  /** What counts of the budget in this month, and the part of it that was not reported. */
  readonly usd: number | null
  readonly estimatedUsd: number | null
  /** What is set aside for open calls. */
  readonly reservedUsd: number | null
  /** When the month ends, ms since the epoch. */
  readonly resetsAt: number
}

/** What a gateway that replays answers from: the recordings, and lines for a person. */
export interface Recordings {
  readonly list: readonly RecordingSummary[]
  readonly notes: readonly string[]
}

export interface PageFile {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
}

/** How a gateway stands to the others that share its log. */
export interface FleetStanding {
  readonly instance: string
  /** Instances that are alive, this one included; 0 while the shared log is away. */
  readonly instances: number
  /** Calls that the shared log has not taken yet. */
  readonly backlog: number
  /** Why it does not take them just now; null when it does. */
  readonly failure: string | null
}

export interface ReadContext {
  readonly config: Config
  readonly router: Pick<Router, 'resolve'>
  /** What the translation of a plain call would lose at a target, by the dialect of the client. */
  readonly plainLosses: (
    target: Pick<Target, 'provider' | 'model'>,
  ) => Readonly<Record<string, readonly string[]>>
  /** Of all gateways that share a log. */
  readonly calls: Reads
  /** Of this one; the same where there is no fleet. */
  readonly instanceCalls: Reads
  /** Absent for a gateway alone. */
  readonly fleet: (() => FleetStanding) | undefined
  /** Why calls cannot be recorded right now; null when they can. */
  readonly storeFailure: () => string | null
  /** Why the request log cannot be read right now; null when it can. */
  readonly readFailure: () => string | null
  readonly configuration: () => ConfigurationState
  /** Providers answer from recordings. */
  readonly replay: boolean
  /** What they answer from then. */
  readonly recordings: Recordings
  /** The gateway itself; times in ms since the epoch. */
  readonly about: { readonly version: string; readonly startedAt: number }
  /** Throws `log_unavailable` when it cannot be read. */
  readonly budgetUse: (keyName: string | null) => BudgetUse
  /** The newest calls that were refused before they had a record: of one key, or all of them. */
  readonly refusals: Refusals['list']
  /** All figures in Prometheus' text format. */
  readonly metrics: () => string
  /** The interface, see `http/openapi.ts`. */
  readonly openApi: () => OpenApi
  /** What happens to calls, as it happens. */
  readonly feed: Pick<Feed, 'listen'>
  readonly pageTokens: PageTokens
  /** The files of the page by their names; null where they were not built. */
  readonly pageFiles: () => ReadonlyMap<string, PageFile> | null
}
