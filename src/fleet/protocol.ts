// The messages between the gateway and the thread that connects to the shared log. Types only.

import type { KeptRow } from '../store/kept-rows.ts'
import type {
  Beat,
  Identity,
  LateWrite,
  LeaseRequest,
  Pulse,
  RateRequest,
  SharedChore,
  SharedLogOptions,
  SharedReads,
} from '../store/shared-log.ts'

export interface WorkerData {
  /** File of the journal. */
  readonly file: string
  readonly log: SharedLogOptions
  readonly identity: Omit<Identity, 'id'>
  readonly config: string
  /** Days for which calls stay in the shared log. */
  readonly days: number
  /** Number of the newest shipped outbox entry; 0 if there is none. */
  readonly shipped: number
}

type PulseRequest = Omit<Beat, 'backlog' | 'since'>

/** State of this instance in the shared log. */
export interface Standing {
  /** Sequence number of this start of the instance; null until it joins. */
  readonly start: number | null
  /** Reason why the instance may not join; null if it may. */
  readonly refused: string | null
  /**
   * Number of calls missing in the shared log, and the time since which the first has waited, ms since the
   * epoch.
   */
  readonly backlog: { readonly calls: number; readonly since: number | null }
  /** Used bytes of the journal. */
  readonly bytes: number
  readonly pulse: Pulse | null
}

export interface Asks {
  /** Resolves when all present entries of the journal are in the shared log. */
  ship: [null, null]
  read: [{ readonly name: keyof SharedReads; readonly args: readonly unknown[] }, unknown]
  /** Heartbeat. If the shared log is unreachable, `pulse` is null and the request does not reject. */
  pulse: [PulseRequest, Standing]
  lease: [Omit<LeaseRequest, 'live'>, number | null]
  rate: [RateRequest, number | null]
  leave: [LateWrite, null]
  keep: [KeptRow, null]
  drop: [{ readonly id: string; readonly keyName: string }, boolean]
  stop: [null, null]
}
export type AskName = keyof Asks

export interface FleetRequest {
  readonly id: number
  readonly name: AskName
  readonly ask: unknown
}

export type FleetReply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  /** Newest outbox entry that the shared log has. */
  | { readonly shipped: number }
  /** Reason why shipping has begun to fail; null if it works again. */
  | { readonly failure: string | null }
  /** The end of a chore of upkeep, with the reason of its failure or null. */
  | { readonly chore: SharedChore; readonly reason: string | null }
  /** A message for the operator. */
  | { readonly note: string }
