// Running gateway, independent of how it was started.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Target } from './schema.ts'

export interface Running {
  /** Prefix of request URLs, without /v1. */
  readonly baseUrl: string
  /** File with a certificate authority to trust in addition to the default ones. */
  readonly ca?: string | undefined
  readonly keys: {
    /** Key sent with calls; null for a gateway without keys. */
    readonly client: string | null
    /** Key of a second client, to test which data it may not see; null if not declared. */
    readonly other: string | null
    /** Key for reading the log. */
    readonly reader: string | null
  }
  /** Files in its directory, including those of the target file; null for an instance on another machine. */
  readonly files: Files | null
  /** Returns false once the gateway has ended by itself. */
  alive(): boolean
  /** Returns its output so far. */
  output(): string
  /** Ends the gateway, politely or with SIGKILL. Resolves when it has ended. */
  stop(how?: 'politely' | 'killed'): Promise<void>
  /**
   * Starts a second process on the same files, with `env` added to its environment. Resolves with its output
   * when it ends, or with null if it started successfully.
   */
  second(env: Readonly<Record<string, string>>): Promise<string | null>
  /** Starts the gateway again on the same files. Rejects with StartError. */
  start(): Promise<void>
}

/** Files of an instance, named by paths below its directory. */
interface Files {
  list(): Promise<ReadonlyMap<string, FileFacts>>
  /** Returns null if there is no such file. */
  read(name: string): Promise<string | null>
  /** Writes texts, replacing existing files. */
  write(files: Readonly<Record<string, string>>): Promise<void>
}

interface FileFacts {
  readonly bytes: number
  /** Ms since the epoch. */
  readonly changedAt: number
}

/** Error about a target that could not be started or reached; one sentence. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Place of an instance: its files, and the ways to start it. */
export interface Home {
  /** Values of `{{dir}}` and `{{port}}` from the target's point of view. */
  readonly dir: string
  readonly port: number
  readonly files: Files
  /** Writes the files. Must come first. Rejects with StartError. */
  writeFiles(target: Target, files: Readonly<Record<string, string>>): Promise<void>
  /** Starts the instance, or restarts it on the same files after it has ended. Rejects with StartError. */
  run(target: Target): Promise<Process>
  /** Starts a second process on the same files while the first one runs. Rejects with StartError. */
  runBeside(target: Target): Promise<Process>
  remove(): Promise<void>
}

/** Process of a target, independent of how it is run. */
export interface Process {
  /** URL at which the target is reached, if it differs from `base_url`. */
  readonly origin?: string | null
  alive(): boolean
  output(): string
  stop(how: 'politely' | 'killed'): Promise<void>
}

export const filesIn = (directory: string): Files => ({
  list: async () => filesBelow(directory),
  read: async (name) =>
    existsSync(join(directory, name)) ? readFileSync(join(directory, name), 'utf8') : null,
  async write(files) {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true, mode: 0o700 })
      writeFileSync(join(directory, name), text, { mode: 0o600 })
    }
  },
})

/** Returns all files: path below the directory -> facts. */
function filesBelow(directory: string): Map<string, FileFacts> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
  return new Map(
    paths.map((path) => {
      const { size, mtimeMs } = statSync(path)
      return [relative(directory, path), { bytes: size, changedAt: mtimeMs }]
    }),
  )
}
