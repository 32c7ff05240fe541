// `npx waybill serve` and `npm start` put a shell between npm and the command. A signal to npm ends that shell but
// does not reach the command, which would keep running. So the command checks whether its parent process is still the
// same.
import { readlinkSync } from 'node:fs'

/** Interval of the check, ms. */
const LOOK_MS = 300

/**
 * Sends this process SIGTERM when its parent has ended, if npm started it. Does not keep the process alive.
 */
export function endWithNpm(env: Readonly<Record<string, string | undefined>>): void {
  if (env.npm_lifecycle_event === undefined || process.platform === 'win32' || isBackground()) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS)
  timer.unref()
}

/**
 * Returns true for a `command &` in a script, which should outlive its shell. Its stdin is empty, unlike the shell's.
 * Node can detect this only on Linux.
 */
function isBackground(): boolean {
  try {
    const [ours, theirs] = ['self', process.ppid].map((id) => readlinkSync(`/proc/${id}/fd/0`))
    return ours === '/dev/null' && theirs !== '/dev/null'
  } catch {
    return false
  }
}
