// The gateway key: from the environment or a private file, never from an argument (LINE-08). Code that gets it
// here may send it to the gateway and nowhere else.
import { readFileSync, statSync } from 'node:fs'

export interface FoundKey {
  readonly key: string | null
  /** Why there is none although one was named; holds no secret. */
  readonly problem: string | null
}

type Env = Readonly<Record<string, string | undefined>>

/** WAYBILL_KEY, else the file. A file that others may read is refused. */
export function findKey(env: Env, file: string | null): FoundKey {
  if (env.WAYBILL_KEY) return checked(env.WAYBILL_KEY, 'WAYBILL_KEY')
  if (!file) return { key: null, problem: null }
  try {
    const { mode, uid } = statSync(file)
    const own = process.getuid === undefined || uid === process.getuid()
    // Windows has neither owner nor mode here.
    if (process.platform !== 'win32' && (!own || (mode & 0o077) !== 0))
      return { key: null, problem: `the key file ${file} is open to others; run chmod 600 on it` }
    return checked(readFileSync(file, 'utf8').trim(), file)
  } catch (error) {
    return {
      key: null,
      problem: `the key file ${file} cannot be read (${(error as { code?: string }).code})`,
    }
  }
}

const checked = (key: string, where: string): FoundKey =>
  /^[\x21-\x7e]{1,1000}$/.test(key)
    ? { key, problem: null }
    : { key: null, problem: `${where} does not contain a key: expected one word of ASCII` }
