// A gateway from outside: its options, and the handle of a running one.
import type { Dispatcher } from 'undici'
import type { Loaded } from '../config/load.ts'
import type { Log } from '../core/process-log.ts'
import type { Dialects } from '../dialects/registry.ts'
import type { Recordings } from '../endpoints/context.ts'

export type { Recordings }

export interface GatewayOptions extends Loaded {
  /**
   * Providers answer from recordings: nothing can be spent, so a public address without keys is allowed, and
   * the record is a database of its own, in `replay` below the data directory.
   */
  readonly replay?: boolean
  /** The recordings, for the endpoints that list them. */
  readonly recordings?: Recordings
  /** Milliseconds since the epoch; Date.now by default. */
  readonly now?: () => number
  /** Uniform in [0, 1); Math.random by default. */
  readonly random?: () => number
  /** Observes the bytes of each exchange with a provider. */
  readonly wire?: Dispatcher.DispatcherComposeInterceptor
  /** Dialects by name; all of them by default. */
  readonly dialects?: Dialects
  /** Files of the page; those of the package by default. */
  readonly page?: URL
  /** Process log; none by default. A pino logger fits. */
  readonly log?: Log
}

export interface Gateway {
  /** Base URL, for example `http://127.0.0.1:4949`. */
  readonly url: string
  /**
   * Puts the configuration that `load` returns into force; open calls keep the one that they began with. If
   * `load` throws, or its result cannot be used, everything stays as it was, and the log and /readyz report
   * it. Returns true on success.
   */
  reload(load: () => Loaded): boolean
  /** Accepts no new calls, waits up to `graceMs` for open ones, commits the record, unlocks the directory. */
  close(graceMs?: number): Promise<void>
}
