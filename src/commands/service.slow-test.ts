// `waybill service` with a stand-in for systemctl, because no service manager runs in a test. The unit's own command is
// started by hand.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { ENVIRONMENT, runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const isLinux = process.platform === 'linux'

function home(t: TestContext, answer: string | null) {
  const directory = join(temporaryDirectory(t), 'a "home" of 100 %')
  const bin = join(directory, 'bin')
  mkdirSync(bin, { recursive: true })
  const asked = join(directory, 'asked')
  if (answer !== null)
    for (const name of ['systemctl', 'journalctl'])
      writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${asked}'\n${answer}\n`, {
        mode: 0o755,
      })
  writeFileSync(
    join(directory, 'waybill.yaml'),
    'server: { port: 0 }\nproviders: { a: { dialect: chat, base_url: "http://127.0.0.1:9/v1", key: $A_KEY } }\n',
  )
  writeFileSync(join(directory, 'keys.env'), 'A_KEY=sk-of-the-service\n', { mode: 0o600 })
  const unit = join(directory, '.config', 'systemd', 'user', 'waybill.service')
  const path = answer === null ? '/nonexistent' : `${bin}:${ENVIRONMENT.PATH}`
  return { directory, unit, asked, options: { cwd: directory, env: { HOME: directory, PATH: path } } }
}

suite('service', { skip: !isLinux && 'the stand-in is for systemd' }, () => {
  test('the service is written, printed, controlled and removed', async (t) => {
    const { unit, asked, options } = home(t, 'exit 0')
    assert.match(
      (await runCli(['service', 'start'], options)).stderr,
      /not installed; run `waybill service install`/,
    )
    const made = await runCli(['service', 'install'], options)
    assert.deepEqual([made.code, made.stderr], [0, ''])
    const text = readFileSync(unit, 'utf8')
    assert.ok(made.stdout.includes(unit) && made.stdout.includes('  [Service]'))
    assert.doesNotMatch(text + made.stdout, /sk-of-the-service/)
    for (const what of ['start', 'status', 'logs', 'stop'])
      assert.equal((await runCli(['service', what], options)).code, 0)
    assert.equal((await runCli(['service', 'uninstall'], options)).code, 0)
    assert.equal(existsSync(unit), false)
    assert.match(
      (await runCli(['service', 'uninstall'], options)).stdout,
      /is not there; nothing was changed/,
    )
    const calls = readFileSync(asked, 'utf8')
      .split('\n')
      .filter((line) => !line.includes('show-environment'))
    assert.deepEqual(calls, [
      ...['systemctl --user daemon-reload', 'systemctl --user enable waybill.service'],
      ...['systemctl --user start waybill.service', 'systemctl --user --no-pager status waybill.service'],
      ...[
        'journalctl --user-unit waybill.service --no-pager -n 100',
        'systemctl --user stop waybill.service',
      ],
      ...['systemctl --user disable --now waybill.service', 'systemctl --user daemon-reload', ''],
    ])
  })

  test('the command of the unit starts the gateway with the kept keys, in any directory', async (t) => {
    const { unit, options } = home(t, 'exit 0')
    await runCli(['service', 'install'], options)
    const text = readFileSync(unit, 'utf8')
    const words = [.../^ExecStart=(.*)$/m.exec(text)![1]!.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, word]) =>
      word!.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
    )
    const child = spawn(words[0]!, words.slice(1), { cwd: '/', env: { PATH: ENVIRONMENT.PATH } })
    t.after(() => child.kill('SIGKILL'))
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (said += part))
    await until(
      'the start',
      () => said.includes('Waybill listens on') || (child.exitCode !== null && assert.fail(said)),
    )
    assert.equal(spawnSync('test', ['-d', join(options.cwd, 'data')]).status, 0)
    if (spawnSync('systemd-analyze', ['--version']).error === undefined) {
      const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], {
        encoding: 'utf8',
        env: { PATH: ENVIRONMENT.PATH, HOME: options.cwd, XDG_RUNTIME_DIR: options.cwd },
      })
      assert.equal(status, 0, stderr)
    } else t.diagnostic('systemd-analyze is not here')
  })

  test('without systemd, one line says so; a configuration that needs a variable is refused; nothing is written', async (t) => {
    for (const answer of [null, 'exit 1']) {
      const { unit, options } = home(t, answer)
      for (const what of ['install', 'start', 'logs']) {
        const { code, stdout, stderr } = await runCli(['service', what], options)
        assert.deepEqual([code, stdout], [1, ''])
        assert.equal(
          stderr,
          'waybill: there is no systemd for this user here; run `waybill serve`, or see docs/operations.md\n',
        )
      }
      assert.equal(existsSync(unit), false)
      assert.match(
        (await runCli(['service', 'install', '--print'], options)).stdout,
        /\[Service\]\nExecStart="/,
      )
    }
    const { options, directory, unit } = home(t, 'exit 0')
    writeFileSync(join(directory, 'keys.env'), '', { mode: 0o600 })
    const { code, stderr } = await runCli(['service', 'install'], {
      ...options,
      env: { ...options.env, A_KEY: 'x' },
    })
    assert.deepEqual([code, existsSync(unit)], [2, false])
    assert.match(stderr, /A_KEY is not set; .*keep it with `waybill key set A_KEY`/)
  })
})
