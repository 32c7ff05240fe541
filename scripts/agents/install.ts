// Installs agents into a scratch directory with the ordinary clients of their registries. Keeps existing
// installations.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestedAgent } from './table.ts'

export interface Installed {
  /** Program with its path. */
  readonly program: string
  readonly version: string
}

/** Installs an agent. Throws if this fails. */
export function installAgent({ name, from, program }: TestedAgent, scratch: string): Installed {
  const directory = join(scratch, name)
  const run = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' })
  mkdirSync(directory, { recursive: true })
  if ('npm' in from) {
    const found = join(directory, 'node_modules', '.bin', program)
    if (!existsSync(found)) {
      writeFileSync(join(directory, 'package.json'), '{ "private": true }\n')
      run('npm', 'install', '--no-audit', '--no-fund', '--loglevel=error', from.npm)
    }
    const { version } = JSON.parse(
      readFileSync(join(directory, 'node_modules', from.npm, 'package.json'), 'utf8'),
    )
    return { program: found, version }
  }
  const found = join(directory, 'bin', program)
  if (!existsSync(found)) {
    run('python3', '-m', 'venv', '.')
    run(join(directory, 'bin', 'pip'), 'install', '--quiet', from.pip)
  }
  const [, version = '?'] =
    /^Version: (.+)$/m.exec(run(join(directory, 'bin', 'pip'), 'show', from.pip)) ?? []
  return { program: found, version }
}
