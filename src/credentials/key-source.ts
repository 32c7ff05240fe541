// Sources of a key: an environment variable, a file, or a command such as that of a secret manager. While the
// gateway runs, a changed file is read again and an old command result is renewed.
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { readBounded } from '../shared/bounded.ts'
import { CredentialError } from './credentials.ts'

export interface KeySource {
  /** Returns the key, or a promise if it must be fetched. Throws CredentialError. */
  get(): string | Promise<string>
  /** Returns the key if it need not be fetched, else null. */
  present(): string | null
  /** Notes that the provider refused a key, so that it is fetched again when next needed. */
  refused(key: string): void
}

/** Maximum size of a key's file and of a command's output, bytes. */
const MAX_BYTES = 2 ** 14
const COMMAND_TIMEOUT_MS = 10_000
/** Interval of checks of a file, ms. */
const FILE_CHECK_MS = 1_000
/** Maximum time until a command that printed a refused key is run again, ms. */
const REFUSED_MS = 30_000

export const fixedKey = (key: string): KeySource => ({ get: () => key, present: () => key, refused() {} })

/** Reads a key from a file. `what`: name of the key in errors. */
export function keyInFile(path: string, what: string, now: () => number): KeySource {
  let known: { readonly key: string; readonly version: string } | null = null
  let lookedAt = Number.NEGATIVE_INFINITY
  const source = {
    get() {
      if (known && now() - lookedAt < FILE_CHECK_MS) return known.key
      lookedAt = now()
      try {
        const { mtimeMs, size, ino } = statSync(path)
        const version = `${mtimeMs} ${size} ${ino}`
        if (known?.version !== version)
          known = { key: singleKeyIn(readBounded(path, MAX_BYTES).toString('utf8'), what, 'file'), version }
      } catch (error) {
        if (known) return known.key // the previous key may still be valid while the file is replaced
        if (error instanceof CredentialError) throw error
        throw new CredentialError(
          `${what}: its file cannot be read (${(error as NodeJS.ErrnoException).code})`,
        )
      }
      return known.key
    },
    present: () => known && source.get(),
    refused() {
      lookedAt = Number.NEGATIVE_INFINITY
    },
  }
  return source
}

/** All waiting calls share one run of the command. A key in use is renewed while calls continue with it. */
export function keyOfCommand(
  [program, ...args]: readonly [string, ...string[]],
  renewMs: number,
  what: string,
  now: () => number,
): KeySource {
  let known: string | null = null
  let refused: string | null = null
  let renewAt = 0
  let running: Promise<string> | null = null
  const run = () => {
    running ??= output(program, args, what)
      .then((key) => {
        renewAt = now() + (key === refused ? Math.min(renewMs, REFUSED_MS) : renewMs)
        known = key
        return key
      })
      .finally(() => {
        running = null
      })
    return running
  }
  const present = () => {
    if (known !== null && now() >= renewAt)
      run().catch(() => {
        renewAt = now() + FILE_CHECK_MS // the old key is used until then
      })
    return known
  }
  return {
    get: () => present() ?? run(),
    present,
    refused(key) {
      if (key !== known) return
      refused = key
      renewAt = 0
    },
  }
}

const output = (program: string, args: readonly string[], what: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const limits = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_BYTES, killSignal: 'SIGKILL' } as const
    execFile(program, args, { ...limits, encoding: 'utf8' }, (error, stdout) => {
      // The command's standard error may contain anything, even the key.
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

/** Returns the only line of a string. Throws CredentialError if it is not a key. */
function singleKeyIn(text: string, what: string, source: 'file' | 'command'): string {
  const key = text.trim()
  const lines = key === '' ? 0 : key.split(/\r?\n/).length
  if (lines !== 1)
    throw new CredentialError(`${what}: its ${source} has ${lines} lines; it must have one, the key`)
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new CredentialError(`${what}: its ${source} has characters that no key has`)
  return key
}
