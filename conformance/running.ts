// A gateway that runs, whoever started it and however.

export interface Running {
  /** What requests begin with, without /v1. */
  readonly baseUrl: string
  /** A file with an authority to trust beside the known ones. */
  readonly ca?: string | undefined
  readonly keys: {
    /** Shown with calls; null for a gateway without keys. */
    readonly client: string | null
    /** A second client, to see what it may not see; null where there is none. */
    readonly other: string | null
    /** Shown when the log is read. */
    readonly reader: string | null
  }
  /** What lies in its directory, the files of the target file among it; null for one that runs elsewhere. */
  readonly files: Files | null
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

/** The files of an instance, named by their paths below its directory. */
export interface Files {
  list(): Promise<ReadonlyMap<string, FileFacts>>
  /** Null where there is no such file. */
  read(name: string): Promise<string | null>
  /** Writes texts, in the place of what was there. */
  write(files: Readonly<Record<string, string>>): Promise<void>
}

export interface FileFacts {
  readonly bytes: number
  /** Ms since the epoch. */
  readonly changedAt: number
}

/** The target could not be started or reached; one sentence for a person. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
