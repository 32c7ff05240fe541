// A call that continues at its provider after the first answer to the client, in the form that survives a
// restart.
import type { Write } from '../store/writes.ts'

export interface BackgroundRun {
  /** The end of the call, still without usage. */
  readonly closing: Extract<Write, { kind: 'close' }>
  /** Dialect of the call and of the provider. */
  readonly dialect: string
  readonly responseId: string
  /** Key of the call. */
  readonly keyName: string | null
}

export interface BackgroundRunner {
  /** Starts polling for a recorded run. */
  start(run: BackgroundRun): void
  /**
   * Processes an answer that the client requested. Another provider, or another key, may have the same id for another
   * run. `isCancelled`: true if the client has just cancelled the run.
   */
  received(
    run: Pick<BackgroundRun, 'responseId' | 'keyName'> & { readonly provider: string },
    text: string,
    isCancelled: boolean,
  ): void
}
