// Finds the gateway key in the environment or a private file, never in an argument (LINE-08). Callers may
// send the key only to the gateway.
import { readFileSync, statSync } from 'node:fs'

interface FoundKey {
  readonly key: string | null
  /** Reason why a named key is missing; contains no secret. */
  readonly problem: string | null
}

type Env = Readonly<Record<string, string | undefined>>

/** Returns WAYBILL_KEY, or else the content of the file. Refuses a file that other users may read. */
export function findKey(env: Env, file: string | null): FoundKey {
  if (env.WAYBILL_KEY) return checked(env.WAYBILL_KEY, 'WAYBILL_KEY')
  if (!file) return { key: null, problem: null }
  try {
    const stats = statSync(file)
    const { mode, uid } = stats
    const own = process.getuid === undefined || uid === process.getuid()
    // Windows does not report owner and mode here.
    if (process.platform !== 'win32' && (!own || (mode & 0o077) !== 0))
      return { key: null, problem: `the key file ${file} is open to others; run chmod 600 on it` }
    if (!stats.isFile() || stats.size > MAX_BYTES) return checked('', file)
    return checked(readFileSync(file, 'utf8').trim(), file)
  } catch (error) {
    return {
      key: null,
      problem: `the key file ${file} cannot be read (${(error as { code?: string }).code})`,
    }
  }
}

/** Maximum bytes of a key file, since devices and pipes have no size. A key has at most 1,000 characters. */
const MAX_BYTES = 4_096

const checked = (key: string, where: string): FoundKey =>
  /^[\x21-\x7e]{1,1000}$/.test(key)
    ? { key, problem: null }
    : { key: null, problem: `${where} does not contain a key: expected one word of ASCII` }
