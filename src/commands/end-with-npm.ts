// `npx waybill serve` and `npm start` put a shell between npm and the command. A signal to npm ends that shell and does
// not reach the command, which would keep running. So it checks whether its parent is still the same.
import { readlinkSync } from 'node:fs'

/** How often it looks, ms. */
const LOOK_MS = 300

/** Where npm started this process: gives it a SIGTERM when its parent has ended. Keeps no process alive. */
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
 * A script's `command &` is to outlive its shell, which gives it an empty stdin in place of its own. Node has no way to
 * ask for this elsewhere than on Linux.
 */
function isBackground(): boolean {
  try {
    const [ours, theirs] = ['self', process.ppid].map((id) => readlinkSync(`/proc/${id}/fd/0`))
    return ours === '/dev/null' && theirs !== '/dev/null'
  } catch {
    return false
  }
}
