// Runs the simulation for a test: in a process of its own, whose clock and chance it takes over.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export function run(...options: string[]): { status: number | null; stdout: string } {
  const program = join(import.meta.dirname, 'run.ts')
  return spawnSync(process.execPath, [program, ...options], { encoding: 'utf8', maxBuffer: 2 ** 28 })
}
