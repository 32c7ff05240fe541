// The public interface of a gateway: its options, and the handle of a running gateway.
import type { Server } from 'node:http'
import type { buildConnector, Dispatcher } from 'undici'
import type { Loaded } from '../config/load.ts'
import type { Log } from '../core/process-log.ts'
import type { Dialects } from '../dialects/registry.ts'
import type { Recordings } from '../endpoints/context.ts'
import type { Clock } from '../shared/clock.ts'

export type { Recordings }

/** Sockets of a gateway, for a simulation. */
export interface Sockets {
  /** Lets a server accept connections, and returns its URL. */
  readonly listen: (server: Server) => string
  /** Makes the function that connects to providers. */
  readonly connector: (options: buildConnector.BuildOptions) => buildConnector.connector
}

export interface GatewayOptions extends Loaded {
  /**
   * True if providers answer from recordings. Nothing can be spent, so a public address without keys is
   * allowed. The record is a separate database, in `replay` below the data directory.
   */
  readonly replay?: boolean
  /** Recordings for the endpoints that list them. */
  readonly recordings?: Recordings
  /** Clock of the whole process until the gateway is closed: its times and its timers. The machine's by default. */
  readonly clock?: Clock
  /** Sockets of clients and providers; the machine's by default. */
  readonly sockets?: Sockets
  /** Random numbers, uniform in [0, 1); those of the process by default. */
  readonly random?: () => number
  /** Observes the bytes of each exchange with a provider. */
  readonly wire?: Dispatcher.DispatcherComposeInterceptor
  /**
   * False if the database is read and written on the main thread, which suits tests: a thread costs about 30 ms of
   * processor time, but a long read then delays calls. True by default.
   */
  readonly threads?: boolean
  /** False if all calls take the general way, so that a test can compare it with the plain one. True by default. */
  readonly plainCalls?: boolean
  /** Dialects by name; all of them by default. */
  readonly dialects?: Dialects
  /** Files of the page; those of the package by default. */
  readonly page?: URL
  /** Process log; none by default. A pino logger can be used. */
  readonly log?: Log
  /** Called if the state of the record is unknown after a fault of the gateway. All calls are refused until a restart. */
  readonly onDoubt?: (reason: string) => void
}

export interface Gateway {
  /** Base URL, for example `http://127.0.0.1:4949`. */
  readonly url: string
  /**
   * Activates the configuration that `load` returns. Open calls keep their old configuration. If `load`
   * throws or its result is unusable, everything stays unchanged, and the log and /readyz report the failure.
   * Returns true on success.
   */
  reload(load: () => Loaded): boolean
  /**
   * Stops accepting calls, waits up to `graceMs` for open calls, commits the record, and unlocks the
   * directory.
   */
  close(graceMs?: number): Promise<void>
}
