// Runs every command of the documentation (README's: ../readme.ts) as a reader would, in a scratch directory
// with the packed program, and fails if the output differs from the page. A block that cannot run gives the
// reason; both kinds are counted.
// Usage: npm run docs -- commands [--package FILE.tgz] [PAGE…]
import { spawnSync } from 'node:child_process'
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CommandBlock, commandBlocks, isThere, openPlace } from './place.ts'

const { values, positionals } = parseArgs({
  options: { package: { type: 'string' } },
  allowPositionals: true,
})
const root = join(import.meta.dirname, '../../..')
const scratch = mkdtempSync(join(tmpdir(), 'waybill-commands-'))
/** Number of concurrent pages, which mostly wait. */
const AT_ONCE = 3
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Creates a node_modules with the packed program, its dependencies, and `waybill` in .bin. */
function install(): string {
  const modules = join(scratch, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  const must = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`)
    return stdout
  }
  const packed =
    values.package ??
    join(
      scratch,
      JSON.parse(must('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', scratch))[0]
        .filename,
    )
  must('tar', '-xzf', packed, '-C', modules)
  must('mv', join(modules, 'package'), join(modules, 'waybill'))
  for (const name of readdirSync(join(root, 'node_modules')).filter((each) => !each.startsWith('.')))
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  const program = `#!/bin/sh\nexec ${process.execPath} ${join(modules, 'waybill/dist/cli.js')} "$@"\n`
  writeFileSync(join(modules, '.bin/waybill'), program, { mode: 0o755 })
  return modules
}

/** Returns the reason not to run a block, or null. */
function reasonAgainst({ attributes }: CommandBlock): string | null {
  if (attributes['not-run'] !== undefined) return attributes['not-run']
  const missing = (attributes.needs ?? '').split(' ').filter((program) => program && !isThere(program))
  return missing.length > 0 ? `there is no ${missing.join(', ')} here` : null
}

/** Runs the blocks of a page in order. */
async function check(modules: string, n: number, page: string): Promise<void> {
  const blocks = commandBlocks(readFileSync(join(root, page), 'utf8'))
  if (!blocks.some(isCommand)) return
  const place = await openPlace(root, modules, join(scratch, `page-${n}`))
  for (const block of blocks) {
    const reason = reasonAgainst(block)
    if (reason !== null) {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      continue
    }
    const from = Date.now()
    await place.run(block).catch(({ message }: Error) => problems.push(`${page}:${block.line}: ${message}`))
    if (isCommand(block)) times.push({ at: `${page}:${block.line}`, seconds: (Date.now() - from) / 1_000 })
  }
  await place.close().catch(({ message }: Error) => problems.push(`${page}: ${message}`))
}

const isCommand = ({ language }: CommandBlock) => language === 'sh' || language === 'console'
const pages =
  positionals.length > 0
    ? positionals
    : ['mocks/README.md', 'recordings/README.md', ...globSync('docs/**/*.md', { cwd: root }).toSorted()]
const reasons = new Map<string, number>()
const problems: string[] = []
const times: { at: string; seconds: number }[] = []
const begun = Date.now()
try {
  const modules = install()
  const left = [...pages.entries()]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = left.shift(); next; next = left.shift()) await check(modules, ...next)
    }),
  )
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

for (const problem of problems) process.stderr.write(`${problem}\n`)
const left = [...reasons.values()].reduce((sum, count) => sum + count, 0)
const slow = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, 3)
say(
  `commands: ${times.length} blocks ran in ${((Date.now() - begun) / 1_000).toFixed(0)} s (${slow.map(({ at, seconds }) => `${at} ${seconds.toFixed(0)} s`).join(', ')})`,
)
say(`  ${left} did not:`)
for (const [reason, count] of [...reasons].toSorted(([, a], [, b]) => b - a)) say(`  ${count} × ${reason}`)
if (problems.length > 0) say(`${problems.length} of them do not do what the page shows`)
process.exitCode = problems.length > 0 || times.length === 0 ? 1 : 0
