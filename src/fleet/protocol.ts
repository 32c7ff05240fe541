// The messages between the gateway and the thread that talks to the shared log. Types only.

import type { KeptRow } from '../store/kept-rows.ts'
import type {
  Beat,
  Identity,
  LeaseRequest,
  Pulse,
  RateRequest,
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
  /** Number of the newest outbox entry that has been shipped; 0 if none. */
  readonly shipped: number
}

export type PulseRequest = Omit<Beat, 'backlog' | 'since'>

/** State of this instance in the shared log. */
export interface Standing {
  /** Number of this start of the instance; null until it joins. */
  readonly start: number | null
  /** Why it may not join. */
  readonly refused: string | null
  /** Calls not yet in the shared log, and the time since which the first has waited, ms since the epoch. */
  readonly backlog: { readonly calls: number; readonly since: number | null }
  /** Used bytes of the journal. */
  readonly bytes: number
  readonly pulse: Pulse | null
}

export interface Asks {
  /** Resolves when all present entries of the journal are in the shared log. */
  ship: [null, null]
  read: [{ readonly name: keyof SharedReads; readonly args: readonly unknown[] }, unknown]
  /** Never rejects for an unreachable shared log: then `pulse` is null. */
  pulse: [PulseRequest, Standing]
  lease: [Omit<LeaseRequest, 'live'>, number | null]
  rate: [RateRequest, number | null]
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
  /** The shared log has the outbox up to this entry. */
  | { readonly shipped: number }
  /** Shipping has begun to fail, or works again (null). */
  | { readonly failure: string | null }
  /** A message for the operator. */
  | { readonly note: string }
