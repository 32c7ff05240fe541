// A call that continues at its provider after its client has a first answer, in the form that is kept across
// a restart.
import type { Write } from '../store/writes.ts'

export interface BackgroundRun {
  /** The end of the call, still without usage. */
  readonly closing: Extract<Write, { kind: 'close' }>
  /** Dialect of the call, which is the provider's. */
  readonly dialect: string
  readonly responseId: string
}

export interface BackgroundRunner {
  /** Begins to ask for a run that is on record. */
  start(run: BackgroundRun): void
  /** Takes an answer that its client asked for. `isCancelled`: the client has just cancelled it. */
  received(responseId: string, text: string, isCancelled: boolean): void
}
