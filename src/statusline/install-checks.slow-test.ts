// `statusline install` checks its options before it changes the settings, and `doctor` checks the installed
// command.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { program } from './install.ts'
import { patiently, run, session } from './test-statusline.ts'

const CLI = join(import.meta.dirname, '../cli.ts')
const KEY = 'wb_the-key-of-the-test'

function home(t: TestContext) {
  const directory = temporaryDirectory(t)
  const settings = join(directory, '.claude', 'settings.json')
  return {
    directory,
    settings,
    waybill: (...args: string[]) =>
      run([process.execPath, CLI, 'statusline', ...args], { HOME: directory, NO_COLOR: '1' }, ''),
    command: () => JSON.parse(readFileSync(settings, 'utf8')).statusLine.command as string,
    /** Creates a key file, with mode 0600 unless another is given. */
    keyFile(name: string, text = `${KEY}\n`, mode = 0o600): string {
      const file = join(directory, name)
      writeFileSync(file, text)
      chmodSync(file, mode)
      return file
    },
  }
}

test('an option that the status line cannot use causes a one-line error and exit code 2, and no settings are written', async (t) => {
  const { directory, settings, waybill, keyFile } = home(t)
  const open = keyFile('open', KEY, 0o644)
  const words = keyFile('words', 'no key at all\n')
  for (const [args, message] of [
    [['--segments', 'route,cots'], /--segments: there is no "cots"; did you mean cost\?/],
    [['--segments', ''], /--segments: there is no ""; there are: route, /],
    [['--segments', 'zebra'], /--segments: there is no "zebra"; there are: route, /],
    [['--theme', 'monno'], /--theme: there is no "monno"; did you mean mono\?/],
    [
      ['--url', 'localhost:4949'],
      /--url takes an address such as http:\/\/127\.0\.0\.1:4949, not "localhost:4949"/,
    ],
    [['--url', 'ftp://127.0.0.1'], /--url takes an address/],
    [['--url', 'http://me:secret@127.0.0.1:4949'], /--url must not contain a key, a query [^\n]*--key-file/],
    [['--key-file', join(directory, 'nowhere')], /the key file .*nowhere cannot be read \(ENOENT\)/],
    [['--key-file', open], /is open to others; run chmod 600 on it/],
    [['--key-file', words], /does not contain a key/],
    [['--scope', 'usr'], /--scope: there is no "usr"; did you mean user\?/],
    [['--subagents'], /the script draws no rows for subagents; leave out --sh/],
  ] as const) {
    const { code, stderr } = await waybill('install', '--sh', ...args)
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
    assert.match(stderr, message)
    assert.match(stderr, /^waybill: [^\n]+\n$/)
    assert.doesNotMatch(stderr, /secret@/)
    assert.equal(existsSync(settings), false, args.join(' '))
  }
})

test('a key file is installed with its absolute path, because the client runs in another directory', async (t) => {
  const { directory, waybill, command, keyFile } = home(t)
  keyFile('relative')
  const here = join(directory, 'relative')
  assert.equal((await waybill('install', '--sh', '--key-file', relativeTo(here))).code, 0)
  assert.ok(command().endsWith(` --key-file ${here}`), command())
})

/** Path to `file`, relative to the directory where the command runs. */
const relativeTo = (file: string): string =>
  join(
    ...process
      .cwd()
      .split('/')
      .slice(1)
      .map(() => '..'),
    file,
  )

test('`statusline doctor` uses the key file and the address in the installed command', async (t) => {
  const digest = createHash('sha256').update(KEY).digest('hex')
  const { url } = await testGateway(t, {
    config: `keys: [ { name: me, digest: "sha256:${digest}" } ]\nroutes: { auto: { targets: [ { model: alpha/model-a } ] } }`,
  })
  const { waybill, keyFile } = home(t)
  const file = keyFile("it's my key")
  assert.equal((await waybill('install', '--sh', '--url', url, '--key-file', file)).code, 0)
  const { code, stdout } = await waybill('doctor')
  assert.match(stdout, new RegExp(`^ok {3}the gateway at ${url} answers to this key$`, 'm'))
  assert.equal(code, 0, stdout)
  const other = await waybill('doctor', '--url', 'http://127.0.0.1:9')
  assert.equal(other.code, 1)
  assert.match(other.stdout, /^BAD {2}the gateway at http:\/\/127\.0\.0\.1:9 is not there/m)
})

test('the program is not installed from a directory that npm may clear', (t) => {
  const cache = join(temporaryDirectory(t), '_npx', '8e662afcd77d2e1d', 'node_modules', 'waybill', 'dist')
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, 'statusline.cjs'), '')
  assert.throws(
    () => program(pathToFileURL(join(cache, 'cli.js')).href),
    (error: Error) => {
      assert.match(
        error.message,
        /is in npm's cache, which npm may clear; install waybill first, or use --sh, which keeps its own copy/,
      )
      return true
    },
  )
})

test('`waybill statusline` uses the gateway of WAYBILL_CONFIG, and a wrong file does not prevent the line', async (t) => {
  const gateway = await testGateway(t)
  const directory = temporaryDirectory(t)
  const file = join(directory, 'w.yaml')
  const draw = (config: string, more = {}) => {
    writeFileSync(file, config)
    const env = { HOME: directory, NO_COLOR: '1', WAYBILL_CONFIG: file, ...more }
    return run([process.execPath, CLI, 'statusline'], env, JSON.stringify(session('new')))
  }
  const config = `server: { port: ${new URL(gateway.url).port} }
providers: { a: { dialect: chat, base_url: http://127.0.0.1:9, key: $A } }`
  const line = /^auto → ~alpha\/model-a · priority\n$/
  const ran = await patiently(
    () => draw(config),
    ({ stdout }) => line.test(stdout),
  )
  assert.match(ran.stdout, line, ran.stderr)
  const elsewhere = await draw(config, { WAYBILL_URL: 'http://127.0.0.1:9' })
  assert.match(elsewhere.stdout, /^Auto · the gateway .+\n$/)
  const { stdout, stderr, code } = await draw('providers: 7')
  assert.match(stdout, /^\S.*\n$/)
  assert.match(stderr, /^waybill: .*w\.yaml/)
  assert.equal(code, 0)
})
