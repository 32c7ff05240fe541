// A gateway that runs, whoever started it and however.

export interface Running {
  /** What requests begin with, without /v1. */
  readonly baseUrl: string
  readonly keys: {
    /** Shown with calls; null for a gateway without keys. */
    readonly client: string | null
    /** A second client, to see what it may not see; null where there is none. */
    readonly other: string | null
    /** Shown when the log is read. */
    readonly reader: string | null
  }
  /** A directory of its own, with the files of the target file in it; null for one that runs elsewhere. */
  readonly directory: string | null
  /** Whether it has not ended by itself. */
  alive(): boolean
  /** What it printed so far. */
  output(): string
  /** Ends it: politely, or with SIGKILL. Resolves when it is gone. */
  stop(how?: 'politely' | 'killed'): Promise<void>
  /**
   * Starts a second process on the same files, `env` added to its environment: what it said before it ended, or null
   * where it came up.
   */
  second(env: Readonly<Record<string, string>>): Promise<string | null>
  /** Starts it again on the same files. Rejects with StartError. */
  start(): Promise<void>
}

/** The target could not be started or reached; one sentence for a person. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
