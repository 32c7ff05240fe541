// Where a key comes from: an environment variable, a file, or a command such as that of a secret manager. A
// changed file and an aged command are read again while the gateway runs.
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { readBounded } from '../shared/bounded-file.ts'
import { CredentialError } from './credentials.ts'

export interface KeySource {
  /** Returns the key; a promise if it has to be fetched. Throws CredentialError. */
  get(): string | Promise<string>
  /** The provider refused the key: fetches it again when it is next needed. */
  refused(): void
}

/** Maximum size of a key's file and of a command's output, bytes. */
const MAX_BYTES = 2 ** 14
const COMMAND_TIMEOUT_MS = 10_000
/** Time between two looks at a file, ms. */
const FILE_CHECK_MS = 1_000

export const fixedKey = (key: string): KeySource => ({ get: () => key, refused() {} })

/** `what`: how errors name the key. */
export function keyInFile(path: string, what: string, now: () => number): KeySource {
  let known: { readonly key: string; readonly version: string } | null = null
  let lookedAt = Number.NEGATIVE_INFINITY
  return {
    get() {
      if (known && now() - lookedAt < FILE_CHECK_MS) return known.key
      lookedAt = now()
      try {
        const { mtimeMs, size, ino } = statSync(path)
        const version = `${mtimeMs} ${size} ${ino}`
        if (known?.version !== version)
          known = { key: singleKeyIn(readBounded(path, MAX_BYTES).toString('utf8'), what, 'file'), version }
      } catch (error) {
        if (known) return known.key // the last one may still be valid, and the file may be replaced right now
        if (error instanceof CredentialError) throw error
        throw new CredentialError(
          `${what}: its file cannot be read (${(error as NodeJS.ErrnoException).code})`,
        )
      }
      return known.key
    },
    refused() {
      lookedAt = Number.NEGATIVE_INFINITY
    },
  }
}

/** Many calls wait for one run of the command. A key that is in use is renewed while calls go on with it. */
export function keyOfCommand(
  [program, ...args]: readonly [string, ...string[]],
  renewMs: number,
  what: string,
  now: () => number,
): KeySource {
  let known: string | null = null
  let renewAt = 0
  let running: Promise<string> | null = null
  const run = () => {
    running ??= output(program, args, what)
      .then((key) => {
        renewAt = now() + renewMs
        known = key
        return key
      })
      .finally(() => {
        running = null
      })
    return running
  }
  return {
    get() {
      if (known === null) return run()
      if (now() >= renewAt)
        run().catch(() => {
          renewAt = now() + FILE_CHECK_MS // the old key serves until then
        })
      return known
    },
    refused() {
      known = null
    },
  }
}

const output = (program: string, args: readonly string[], what: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_BYTES, encoding: 'utf8' as const }
    execFile(program, args, options, (error, stdout) => {
      // Its standard error may contain anything, even the key.
      if (error?.killed)
        reject(new CredentialError(`${what}: its command did not end within ${COMMAND_TIMEOUT_MS} ms`))
      else if (error)
        reject(new CredentialError(`${what}: its command failed (${error.code ?? error.signal})`))
      else
        try {
          resolve(singleKeyIn(stdout, what, 'command'))
        } catch (wrong) {
          reject(wrong)
        }
    }).stdin?.end()
  })

/** Returns the only line of a text. Throws CredentialError if it is no key. */
function singleKeyIn(text: string, what: string, source: 'file' | 'command'): string {
  const key = text.trim()
  const lines = key === '' ? 0 : key.split(/\r?\n/).length
  if (lines !== 1)
    throw new CredentialError(`${what}: its ${source} has ${lines} lines; it must have one, the key`)
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new CredentialError(`${what}: its ${source} has characters that no key has`)
  return key
}
