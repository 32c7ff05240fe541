// The single executable, built, and run in an empty directory without Node: its environment has no usable PATH.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { buildExecutable, reasonAgainst } from './executable.ts'

const ADDON = 'node_modules/better-sqlite3/prebuilds/linux-x64.node'
const isBuilt = existsSync(join(import.meta.dirname, '../../dist/cli.js'))

test('there is a reason for each platform without an executable', () => {
  assert.match(reasonAgainst('darwin', 'arm64')!, /signature/)
  assert.match(reasonAgainst('win32', 'x64')!, /signature/)
  assert.match(reasonAgainst('linux', 'arm64')!, /it was never tried on linux-arm64/)
})

suite('executable', { skip: reasonAgainst() ?? (!isBuilt && 'dist is not built') }, () => {
  let directory: string
  let program: string
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'waybill-executable-'))
    program = join(directory, 'waybill')
    await buildExecutable(program)
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  const start = (home: string, args: readonly string[]) =>
    spawn(program, args, {
      cwd: directory,
      env: { PATH: '/nowhere', HOME: join(directory, home), TMPDIR: directory },
    })
  async function run(home: string, ...args: string[]) {
    const child = start(home, args)
    const told = { code: null as number | null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => (told.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (told.stderr += text))
    child.stdin.end('{}')
    ;[told.code] = await once(child, 'close')
    return told
  }
  const dataOf = (home: string) => join(directory, home, '.local/share/waybill')
  const unpackedOf = (home: string) => join(dataOf(home), readdirSync(dataOf(home))[0]!)

  test('the executable keeps its second promise without Node, and unpacks into a private directory', async () => {
    const { code, stdout, stderr } = await run('home', 'self-test')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^ok {3}the provider received 2 calls; after SIGKILL, 2 are on record$/m)
    assert.equal(lstatSync(unpackedOf('home')).mode & 0o777, 0o700)
  })

  test('the executable answers from recordings, and draws the status line', async () => {
    const child = start('home', ['serve', '--replay', '--port', '0'])
    let output = ''
    for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += text
      if (output.includes('listens on')) break
    }
    const url = /listens on (http:[^\s",]+)/.exec(output)![1]!
    const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Where do you go?' }] })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    assert.match(await answer.text(), /This is a recorded answer/)
    const line = await run('home', 'statusline', '--url', url)
    child.kill()
    assert.deepEqual(
      [line.code, line.stdout.startsWith('waybill'), await once(child, 'exit')],
      [0, true, [0, null]],
    )
  })

  test('several first starts at once leave one directory', async () => {
    const all = await Promise.all([1, 2].map(() => run('crowd', '--version')))
    assert.deepEqual(
      all.map(({ code, stderr }) => [code, stderr]),
      Array(2).fill([0, '']),
    )
    assert.equal(readdirSync(dataOf('crowd')).length, 1)
  })

  const DAMAGES: Readonly<Record<string, (unpacked: string) => void>> = {
    'machine code that is cut': (unpacked) => truncateSync(join(unpacked, ADDON), 1_000),
    'a directory that others can read': (unpacked) => chmodSync(unpacked, 0o755),
    'a link in place of the directory': (unpacked) => {
      rmSync(unpacked, { recursive: true })
      symlinkSync(directory, unpacked)
    },
  }
  for (const [name, damage] of Object.entries(DAMAGES))
    test(`the executable replaces ${name}`, async () => {
      damage(unpackedOf('crowd'))
      assert.equal((await run('crowd', 'config', '--help')).code, 0)
      const { mode } = lstatSync(unpackedOf('crowd'))
      assert.equal(mode & 0o777, 0o700)
      assert.ok(lstatSync(join(unpackedOf('crowd'), ADDON)).size > 1_000_000)
      assert.equal(readdirSync(dataOf('crowd')).length, 1)
    })

  test('the executable does not use a directory of data that others can change', async () => {
    mkdirSync(dataOf('shared'), { recursive: true })
    chmodSync(dataOf('shared'), 0o777)
    const temporary = join(directory, `waybill-${process.getuid!()}`)
    mkdirSync(temporary, { mode: 0o700 })
    renameSync(unpackedOf('crowd'), join(temporary, readdirSync(dataOf('crowd'))[0]!)) // saves the time to unpack it
    assert.equal((await run('shared', '--version')).code, 0)
    assert.deepEqual(readdirSync(dataOf('shared')), [])
  })

  test('the service and the status line name only the executable', async () => {
    const made = await run('home', 'statusline', 'install')
    assert.ok(made.stdout.includes(`  ${program} statusline\n`), made.stdout + made.stderr)
    const service = await run('home', 'service', 'install', '--print')
    assert.match(
      service.stdout,
      new RegExp(`ExecStart="?${program}"? "?serve`),
      service.stdout + service.stderr,
    )
  })
})
