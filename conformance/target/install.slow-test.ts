// Tests `waybill conform FILE@VERSION --install` with stand-in packages of npm and PyPI that are files on this
// machine. Both installers run without a network.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { runCli } from '../../src/test/test-cli.ts'
import { installerWords } from './install.ts'

const NO_PYTHON = spawnSync('python3', ['-m', 'venv', '--help']).status === 0 ? false : 'there is no python3'

/** A gateway that forwards its calls to the mock, and says its version in a header. */
const GATEWAY = `const { request } = require('http')
const [port, provider, key] = process.argv.slice(2)
require('http').createServer((q, r) => {
  if (q.method !== 'POST') return r.end('{}')
  const headers = { ...q.headers, authorization: 'Bearer ' + key }
  q.pipe(request(provider + q.url, { method: 'POST', headers }, (answer) => {
    r.writeHead(answer.statusCode, { ...answer.headers, 'x-version': VERSION })
    answer.pipe(r)
  }))
}).listen(port, '127.0.0.1')`

suite('conform FILE@VERSION', () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-install-test-'))
  /** Place of scratch directories. */
  const temporary = join(root, 'tmp')
  const write = (file: string, text: string): void => {
    mkdirSync(join(root, file, '..'), { recursive: true })
    writeFileSync(join(root, file), text, { mode: 0o755 })
  }
  /** Returns the scratch directories that were left behind. */
  const left = () => readdirSync(temporary).filter((name) => name.startsWith('waybill-'))
  const target = (name: string, install?: object, version = '0.0.1'): void =>
    write(
      `${name}.yaml`,
      JSON.stringify({
        ...{ name, version, install },
        start: { command: ['stand-in', '{{port}}', '{{mock.openai.root}}', '{{mock.openai.key}}'] },
        providers: { openai: {} },
        models: { direct: [{ id: 'gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }] },
      }),
    )
  const conform = (...args: string[]) =>
    runCli(['conform', ...args, '--only', 'ROUTE-05'], {
      cwd: root,
      env: { ...process.env, TMPDIR: temporary, npm_config_offline: 'true', PIP_NO_INDEX: '1' },
    })

  before(() => {
    mkdirSync(temporary)
    const code = `#!/usr/bin/env node\nconst VERSION = '1.2.0'\n${GATEWAY}`
    write(
      'npm-1.2.0/package.json',
      JSON.stringify({ name: 'stand-in', version: '1.2.0', bin: { 'stand-in': 'gateway.cjs' } }),
    )
    write('npm-1.2.0/gateway.cjs', code)
    target('from-npm', { npm: [`file:${root}/npm-{{version}}`] })
    target('alone')
    write('at@1.yaml', JSON.stringify({ name: 'at' }))
  })
  after(() => rmSync(root, { recursive: true, force: true }))

  test('installs nothing without --install, and says what it would install', async () => {
    const { code, stdout, stderr } = await conform('from-npm.yaml@1.2.0')
    assert.match(stdout, /installs file:\S+npm-1\.2\.0 from npm in a scratch directory, and runs it on this/)
    assert.deepEqual([code, stderr, left()], [3, '', []])
  })

  test('installs the version from npm, tests it, names it in the result, and removes it', async () => {
    const { code, stdout, stderr } = await conform('from-npm.yaml@1.2.0', '--install', '--report', 'report')
    assert.equal(code, 0, stdout + stderr)
    assert.match(
      stdout,
      /^Installing file:\S+ from npm in \S+waybill-install-\w+, which is removed at the end/,
    )
    assert.match(stdout, /from-npm 1\.2\.0, profile core/)
    assert.deepEqual(left(), [])
    const { stdout: judged } = await runCli(['judge', 'report'], { cwd: root })
    assert.match(judged, /from-npm 1\.2\.0/)
  })

  test('installs a version from PyPI in a virtual environment', { skip: NO_PYTHON }, async () => {
    const info = 'stand_in-1.2.0.dist-info'
    write(
      'wheel/stand_in.py',
      `import os, sys\ndef main():\n    os.execvp('node', ['node', '-e', """const VERSION = '1.2.0'\n${GATEWAY.replace('slice(2)', 'slice(1)')}""", *sys.argv[1:]])\n`,
    )
    write(`wheel/${info}/METADATA`, 'Metadata-Version: 2.1\nName: stand-in\nVersion: 1.2.0\n')
    write(
      `wheel/${info}/WHEEL`,
      'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    )
    write(`wheel/${info}/entry_points.txt`, '[console_scripts]\nstand-in = stand_in:main\n')
    write(
      `wheel/${info}/RECORD`,
      ['stand_in.py', ...['METADATA', 'WHEEL', 'entry_points.txt', 'RECORD'].map((file) => `${info}/${file}`)]
        .map((file) => `${file},,\n`)
        .join(''),
    )
    const wheel = join(root, 'stand_in-1.2.0-py3-none-any.whl')
    const { status, stderr: trouble } = spawnSync(
      'python3',
      ['-m', 'zipfile', '-c', wheel, 'stand_in.py', info],
      { cwd: join(root, 'wheel'), encoding: 'utf8' },
    )
    assert.equal(status, 0, trouble)
    target('from-pypi', { pypi: [`${root}/stand_in-{{version}}-py3-none-any.whl`] })
    const { code, stdout, stderr } = await conform('from-pypi.yaml@1.2.0', '--install')
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /from-pypi 1\.2\.0, profile core/)
    assert.deepEqual(left(), [])
  })

  const REFUSED: readonly [args: readonly string[], code: number, says: RegExp][] = [
    [
      ['from-npm.yaml@9.9.9', '--install'],
      3,
      /^waybill: cannot install file:\S+ from npm: npm ended with \d+: .+\n$/,
    ],
    [['from-npm.yaml@latest', '--install'], 2, /after the @ belongs a version that begins with a digit/],
    [['from-npm.yaml@1;touch x', '--install'], 2, /after the @ belongs a version/],
    [['from-npm.yaml', '--install'], 2, /--install needs a version/],
    [['alone.yaml@1.0.0', '--install'], 2, /its target file names no packages/],
    [['nowhere.yaml@1.0.0', '--install'], 2, /nowhere\.yaml@1\.0\.0/],
    [['at@1.yaml'], 2, /at@1\.yaml:1/],
  ]
  test('another target or version is refused in one line, and nothing is installed', async () => {
    const ended = await Promise.all(REFUSED.map(([args]) => conform(...args)))
    for (const [index, [args, expected, says]] of REFUSED.entries()) {
      const { code, stderr } = ended[index]!
      assert.match(stderr, says, args.join(' '))
      assert.match(stderr, /^waybill: [^\n]+\n$|at@1/, args.join(' '))
      assert.equal(code, expected, args.join(' '))
    }
    assert.deepEqual(left(), [])
  })
})

test('an installer’s error is reported in one line, in the installer’s words', () => {
  const cases: readonly [Parameters<typeof installerWords>[0], stderr: string, says: string][] = [
    [{ code: 'ENOENT' }, '', 'is not on this machine'],
    [{ killed: true }, 'npm error x', 'took longer than 10 min'],
    [{ code: 1 }, '', 'ended with 1: it printed nothing'],
    [
      { code: 1 },
      'npm error code ETARGET\nnpm error notarget No matching version found for a@9.\nnpm error A complete log\n',
      'ended with 1: notarget No matching version found for a@9.',
    ],
    [
      { code: 1 },
      'ERROR: Could not find a version (from versions: 1)\nERROR: No matching distribution found for a==9\n\n[notice] x',
      'ended with 1: No matching distribution found for a==9',
    ],
    [{ code: 2 }, 'first\nlast\n\n', 'ended with 2: last'],
  ]
  for (const [cause, stderr, says] of cases) assert.equal(installerWords(cause, stderr), says)
})
