// LINE-11 with real files and real shells: the installed line runs, and uninstall restores every byte.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CLI, ENVIRONMENT } from '../test/test-cli.ts'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { installLine, uninstall } from './install.ts'
import { bundle, patiently, type Run, run } from './test-statusline.ts'

interface Home {
  readonly file: string
  readonly env: Record<string, string>
  waybill(...args: string[]): Promise<Run>
}

/** Creates a home directory with settings, or without them if `text` is null. */
function home(t: TestContext, text: string | null, env: Record<string, string> = {}): Home {
  const directory = temporaryDirectory(t)
  const file = join(directory, '.claude', 'settings.json')
  mkdirSync(join(directory, '.claude'))
  if (text !== null) writeFileSync(file, text, { mode: 0o640 })
  const all = { ...ENVIRONMENT, HOME: directory, ...env }
  return {
    file,
    env: all,
    waybill: (...args) => run([process.execPath, CLI, 'statusline', ...args], all, ''),
  }
}

const SETTINGS: Readonly<Record<string, string>> = {
  'an empty object': '{}',
  'an empty object over two lines': '{\n}\n',
  'two spaces': '{\n  "model": "auto",\n  "env": { "A": "}" }\n}\n',
  'tabs and no line feed at the end': '{\n\t"model": "auto"\n}',
  'one line': '{"a":[1,2,{"b":"statusLine"}]}',
  'carriage returns and odd blanks': '{ \r\n "a" :1 ,\r\n\r\n "b":2 \r\n }\r\n\r\n',
  'a number that JavaScript cannot hold': '{ "n": 12345678901234567890, "u": "\\u00e9" }\n',
}

for (const [name, text] of sample(Object.entries(SETTINGS), 3))
  test(`settings with ${name} are restored byte for byte after install and uninstall (LINE-11)`, async (t) => {
    const { file, waybill } = home(t, text)
    assert.equal((await waybill('install', '--sh')).code, 0)
    const settings = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(Object.keys(settings), [...Object.keys(JSON.parse(text)), 'statusLine'])
    assert.equal(statSync(file).mode & 0o777, 0o640)
    assert.equal((await waybill('uninstall')).code, 0)
    assert.equal(readFileSync(file, 'utf8'), text)
  })

test('the installed line runs in a shell as the client would run it, and uninstall removes the line (LINE-11)', async (t) => {
  const gateway = await testGateway(t)
  await gateway.chat(ask('auto'), { 'x-session-id': 's' })
  const directory = temporaryDirectory(t)
  const { waybill, env } = home(t, null, { CLAUDE_CONFIG_DIR: join(directory, "it's here"), NO_COLOR: '1' })
  const file = join(directory, "it's here", 'settings.json')
  assert.equal((await waybill('install', '--sh', '--url', gateway.url)).code, 0)
  const { command } = JSON.parse(readFileSync(file, 'utf8')).statusLine
  const { stdout, code } = await patiently(
    () => run(['/bin/sh', '-c', command], env, '{"session_id":"s","model":{"id":"auto"}}'),
    ({ stdout }) => stdout.includes('→'),
  )
  assert.deepEqual([code, stdout.slice(0, 23)], [0, 'auto → alpha/model-a · '])
  const doctor = await waybill('doctor', '--url', gateway.url, '--session', 's')
  assert.equal(doctor.code, 0, doctor.stdout)
  assert.match(doctor.stdout, /ours/)
  const other = await waybill('doctor', '--url', gateway.url, '--session', 'elsewhere')
  assert.equal(other.code, 1)
  assert.match(other.stdout, /BAD {2}this key sees no main call of session "elsewhere"/)
  assert.equal((await waybill('uninstall')).code, 0)
  assert.equal(statSync(file, { throwIfNoEntry: false }), undefined, 'it was not there before')
  assert.match((await waybill('uninstall')).stdout, /does not have our line/)
})

test('another program’s status line is unchanged unless it is wrapped, and is restored exactly (LINE-11)', async (t) => {
  const text = '{\n  "statusLine" : { "type":"command",  "command":"echo \'mine\'" }, "z": 1\n}\n'
  const { file, waybill, env } = home(t, text)
  const refused = await waybill('install', '--sh')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /already has a statusLine; `--wrap` keeps it/)
  assert.equal(readFileSync(file, 'utf8'), text)

  const directory = temporaryDirectory(t)
  const words = [process.execPath, await bundle(t), '--url', 'http://127.0.0.1:9']
  const command = installLine({ file, key: 'statusLine', directory, wrap: true, words })
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { statusLine: { type: 'command', command }, z: 1 })
  const shows = /^mine · auto · the gateway is not there\n$/
  const ran = await patiently(
    () => run(['/bin/sh', '-c', command], { ...env, NO_COLOR: '1' }, '{"model":{"id":"auto"}}'),
    ({ stdout }) => shows.test(stdout),
  )
  assert.match(ran.stdout, shows)
  assert.equal(uninstall({ file, key: 'statusLine', directory }), 'restored')
  assert.equal(readFileSync(file, 'utf8'), text)
})

test('a line that the user edited is not removed; other edits to the file are kept (LINE-11)', async (t) => {
  const { file, waybill } = home(t, '{\n  "a": 1\n}\n')
  assert.equal((await waybill('install', '--sh')).code, 0)
  const edited = readFileSync(file, 'utf8').replace('/bin/sh', '/bin/dash')
  writeFileSync(file, edited)
  assert.match((await waybill('uninstall')).stdout, /edited after it was installed; it was left unchanged/)
  assert.equal(readFileSync(file, 'utf8'), edited)

  writeFileSync(file, edited.replace('/bin/dash', '/bin/sh').replace('"a": 1', '"a": 2, "b": 3'))
  assert.equal((await waybill('uninstall')).code, 0)
  assert.equal(readFileSync(file, 'utf8'), '{\n  "a": 2, "b": 3\n}\n')
})

test('settings that are not JSON are refused, links are followed, and both kinds of line can be installed (LINE-11)', async (t) => {
  const broken = home(t, '{ "a": 1, // comment\n}')
  const { code, stderr } = await broken.waybill('install', '--sh')
  assert.equal(code, 1)
  assert.match(stderr, /was not changed: it is not valid JSON/)
  assert.equal(readFileSync(broken.file, 'utf8'), '{ "a": 1, // comment\n}')

  const { file, waybill } = home(t, null)
  const real = join(temporaryDirectory(t), 'dotfiles.json')
  writeFileSync(real, '{}\n')
  symlinkSync(real, file)
  assert.equal((await waybill('install', '--sh')).code, 0)
  assert.equal((await waybill('install', '--subagents')).code, 0)
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(real, 'utf8'))), ['statusLine', 'subagentStatusLine'])
  assert.equal((await waybill('uninstall', '--subagents')).code, 0)
  assert.equal((await waybill('uninstall')).code, 0)
  assert.equal(readFileSync(real, 'utf8'), '{}\n')
  assert.equal(readFileSync(file, 'utf8'), '{}\n', 'still a link')
})

const QWEN: Readonly<Record<string, string>> = {
  'an empty object': '{}',
  'no `ui`': '{\n  "model": { "name": "auto" }\n}\n',
  'an empty `ui`': '{ "ui": {}, "b": 2 }\n',
  'a filled `ui`': '{\n  "ui": {\n    "theme": "dark"\n  },\n  "statusLine": "not ours"\n}\n',
}

for (const [name, text] of sample(Object.entries(QWEN), 2))
  test(`Qwen Code’s settings contain the line below \`ui\`, and ${name} is restored byte for byte (LINE-11)`, async (t) => {
    const directory = temporaryDirectory(t)
    const file = join(directory, '.qwen', 'settings.json')
    mkdirSync(join(directory, '.qwen'))
    writeFileSync(file, text)
    const waybill = (...args: string[]) =>
      run(
        [process.execPath, CLI, 'statusline', ...args, '--client', 'qwen'],
        { ...ENVIRONMENT, HOME: directory },
        '',
      )
    const installed = await waybill('install', '--sh')
    assert.equal(installed.code, 0, installed.stderr)
    assert.match(installed.stdout, /waybill run -- qwen/)
    const { ui, ...others } = JSON.parse(readFileSync(file, 'utf8'))
    const before = JSON.parse(text)
    assert.deepEqual(Object.keys(ui), [...Object.keys(before.ui ?? {}), 'statusLine'])
    assert.match(ui.statusLine.command, /statusline\.sh$/)
    assert.deepEqual({ ...others, ui: before.ui }, { ...before, ui: before.ui })
    assert.match((await waybill('install', '--sh')).stdout, /now runs/, 'twice is once')
    writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8')))) // formatted by the user
    assert.equal((await waybill('uninstall')).code, 0)
    const { ui: left = {}, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual({ ...rest, ui: left }, { ...before, ui: before.ui ?? {} })
    writeFileSync(file, text)
    await waybill('install', '--sh')
    await waybill('uninstall')
    assert.equal(readFileSync(file, 'utf8'), text)
  })

test('Copilot’s settings receive the line, and missing features are named (LINE-11)', async (t) => {
  const directory = temporaryDirectory(t)
  const env = { ...ENVIRONMENT, HOME: directory, COPILOT_HOME: join(directory, 'c') }
  const waybill = (...args: string[]) => run([process.execPath, CLI, 'statusline', ...args], env, '')
  assert.equal((await waybill('install', '--sh', '--client', 'copilot')).code, 0)
  assert.match(
    JSON.parse(readFileSync(join(directory, 'c', 'settings.json'), 'utf8')).statusLine.command,
    /statusline\.sh$/,
  )
  for (const [args, says] of [
    [['--client', 'copilot', '--subagents'], /GitHub Copilot CLI has no rows for subagents/],
    [['--client', 'qwen', '--scope', 'local'], /Qwen Code has no local settings; use --scope project/],
    [['--client', 'qwn'], /--client: there is no "qwn"; did you mean qwen\?/],
  ] as const) {
    const { code, stderr } = await waybill('install', ...args)
    assert.equal(code, 2)
    assert.match(stderr, says)
  }
})
