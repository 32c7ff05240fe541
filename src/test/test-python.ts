// The Python with the official Python clients, for slow tests.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Python with the clients; by default the one that `npm run agents -- python-clients` makes. */
export const python = process.env.WAYBILL_PYTHON ?? join(tmpdir(), 'waybill-python', 'bin', 'python')

/** Returns the version of a client, or null if it is not installed. */
export function versionOf(module: string): string | null {
  if (!existsSync(python)) return null
  const print = `import ${module} as it; print(it.__version__)`
  try {
    return execFileSync(python, ['-c', print], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return null
  }
}
