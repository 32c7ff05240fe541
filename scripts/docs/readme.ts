// Follows the README as a stranger would: in a fresh clone, with an empty home, and with the given versions
// of Node and npm, installed from npm. Runs every command in order as printed, except for the port, and except those that
// say why they are not run. With --tests, its `npm test` runs only the tests below PATH, for a second version of Node.
// Usage:
// npm run docs -- readme --node 20 --npm 10 [--tests PATH]
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { commandBlocks, openIn } from './commands/place.ts'

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: '24' },
    npm: { type: 'string', default: '11' },
    tests: { type: 'string' },
  },
})
const root = join(import.meta.dirname, '../..')
const scratch = mkdtempSync(join(tmpdir(), 'waybill-readme-'))
const say = (line: string) => process.stdout.write(`${line}\n`)

function must(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: scratch, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout.trim()
}

try {
  const [clone, home, tools] = ['clone', 'home', 'tools'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ]
  must('git', 'clone', '--quiet', root, clone)
  mkdirSync(home)
  must(
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--prefix',
    tools,
    `node@${values.node}`,
    `npm@${values.npm}`,
  )
  const bin = join(tools, 'node_modules/.bin')
  const [node, npm] = ['node', join(bin, 'npm')].map((name) =>
    must(join(bin, 'node'), ...(name === 'node' ? ['--version'] : [name, '--version'])),
  )
  say(
    `README, with Node ${node} and npm ${npm}, in a clone of ${must('git', '-C', root, 'rev-parse', '--short', 'HEAD')}`,
  )
  const handed = ['WAYBILL_TESTS', 'WAYBILL_BROWSER', 'WAYBILL_POSTGRES']
  const env = Object.fromEntries(handed.map((name) => [name, process.env[name]]))
  const place = await openIn({
    root: clone,
    directory: clone,
    home,
    path: [bin, '/usr/local/bin', '/usr/bin', '/bin'],
    env,
    onOutput: (text) => process.stdout.write(text),
  })
  let ran = 0
  for (const printed of commandBlocks(readFileSync(join(clone, 'README.md'), 'utf8'))) {
    const block = values.tests
      ? { ...printed, text: printed.text.replace(/npm test$/m, `$& -- ${values.tests}`) }
      : printed
    if (block.language !== 'sh' && block.language !== 'console') continue
    const why = block.attributes['not-run']
    if (why !== undefined) {
      say(`\nREADME.md:${block.line}: not run here: ${why}`)
      continue
    }
    if (block.attributes['after-ctrl-c'] !== undefined) await place.close()
    const from = Date.now()
    say(`\n$ ${block.text.trim()}`)
    await place.run(block)
    say(`README.md:${block.line}: as printed, in ${((Date.now() - from) / 1_000).toFixed(0)} s`)
    ran++
  }
  await place.close()
  assert.ok(ran >= 5, 'README has its commands')
} catch (error) {
  // The command's output has already been printed.
  process.stderr.write(
    `README, with Node ${values.node} and npm ${values.npm}: ${(error as Error).message.split('\n')[0]}\n`,
  )
  process.exitCode = 1
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
