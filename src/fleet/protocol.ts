// The messages between the gateway and the thread that talks to the shared log. Types only.

import type { Beat, Identity, Pulse } from '../store/postgres/instances.ts'
import type { LeaseRequest } from '../store/postgres/leases.ts'
import type { LinkOptions } from '../store/postgres/link.ts'
import type { RateRequest } from '../store/postgres/rates.ts'
import type { ReadName } from '../store/reads.ts'

export interface WorkerData {
  /** The journal. */
  readonly file: string
  readonly link: LinkOptions
  readonly identity: Omit<Identity, 'id'>
  readonly config: string
  /** How long calls stay in the shared log. */
  readonly days: number
  /** Entries of the outbox that the journal has let go of already. */
  readonly shipped: number
}

export type PulseRequest = Omit<Beat, 'backlog'>

/** How things stand between this instance and the shared log. */
export interface Standing {
  /** Which start of the instance this is; null until it takes part. */
  readonly start: number | null
  /** Why it may not take part. */
  readonly refused: string | null
  /** Calls that the shared log has not taken yet, and since when the first of them waits, ms since the epoch. */
  readonly backlog: { readonly calls: number; readonly since: number | null }
  /** Bytes of the journal that are in use. */
  readonly bytes: number
  readonly pulse: Pulse | null
}

export interface Asks {
  /** Resolves when all that is in the journal by now is in the shared log. */
  ship: [null, null]
  read: [
    { readonly name: Exclude<ReadName, 'artifact' | 'fill'>; readonly args: readonly unknown[] },
    unknown,
  ]
  /** Never rejects because the shared log is away: then `pulse` is null. */
  pulse: [PulseRequest, Standing]
  lease: [Omit<LeaseRequest, 'live'>, number | null]
  rate: [RateRequest, number | null]
  stop: [null, null]
}
export type AskName = keyof Asks

export interface Request {
  readonly id: number
  readonly name: AskName
  readonly ask: unknown
}

export type Said =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  /** The shared log has all of the outbox up to here. */
  | { readonly shipped: number }
  /** Shipping begins to fail, or works again (null). */
  | { readonly failure: string | null }
  /** Something that an operator should know. */
  | { readonly note: string }
