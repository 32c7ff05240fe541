// Behaviour of commands when the reader of their output has closed, or when the output cannot be written.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CLI, ENVIRONMENT, freePort } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const env = { ...ENVIRONMENT, OPENAI_API_KEY: 'x', GROQ_API_KEY: 'x' }
const EXAMPLE = `${root}examples/waybill.yaml`

/** Runs a command whose stdout, or stdout and stderr, is closed before it can write. */
async function unread(args: readonly string[], streams: 'stdout' | 'both') {
  const child = spawn(process.execPath, [CLI, ...args], { env, cwd: root })
  let stderr = ''
  child.stdout.destroy()
  if (streams === 'both') child.stderr.destroy()
  else child.stderr.setEncoding('utf8').on('data', (part) => (stderr += part))
  const [code, signal] = await once(child, 'close')
  return { code, signal, stderr }
}

/** Each exit code is the command's own. */
const COMMANDS: readonly [readonly string[], number][] = [
  [['--help'], 0],
  [['--version'], 0],
  [['serve', '--help'], 0],
  [['conform', '--help'], 0],
  [['statusline', 'install', '--help'], 0],
  [['recordings', 'list'], 0],
  [['recordings', 'list', '--json'], 0],
  [['recordings', 'verify'], 0],
  [['routes', '-c', EXAMPLE], 0],
  [['mock', '--list'], 0],
  [['doctor', '-c', 'nowhere.yaml'], 1],
  [['config', 'check', '-c', 'nowhere.yaml'], 2],
  [['statusline', 'doctor', '--url', 'http://127.0.0.1:9'], 1],
]

for (const [args, expected] of sample(COMMANDS, 4))
  test(`\`${args.join(' ').replace(root, '')}\` ends quietly when its output has no reader`, async () => {
    const quiet = await unread(args, 'stdout')
    assert.deepEqual([quiet.code, quiet.signal], [expected, null], quiet.stderr)
    assert.doesNotMatch(quiet.stderr, /EPIPE|\n {4}at /)
    const deaf = await unread(args, 'both')
    assert.deepEqual([deaf.code, deaf.signal], [expected, null])
  })

test('a list that `head` cuts short in a shell exits with 0', () => {
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--norc', '-o', 'pipefail', '-c', `"${process.execPath}" "${CLI}" recordings list --json | head -n 1`],
    { env, cwd: root, encoding: 'utf8' },
  )
  assert.deepEqual([status, stdout, stderr], [0, '[\n', ''])
})

test('if output cannot be written for a reason other than a closed pipe, one line reports the error, and the exit code is 1', {
  skip: process.platform !== 'linux' && 'only Linux has /dev/full',
}, () => {
  for (const args of [['recordings', 'list'], ['--help'], ['mock', '--list']]) {
    const { status, stderr } = spawnSync(process.execPath, [CLI, ...args], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    })
    assert.equal(status, 1, stderr)
    assert.equal(stderr, 'waybill: the output cannot be written: no space left on device\n')
  }
})

test('a gateway and a mock keep running without a reader of their output', async (t) => {
  const [port, control] = [String(await freePort()), String(await freePort())]
  for (const args of [
    ['serve', '--replay', '-c', EXAMPLE, '--port', port],
    ['mock', '--port', port, '--control-port', control],
  ]) {
    const child = spawn(process.execPath, [CLI, ...args], {
      env: { ...env, WAYBILL_DATA: temporaryDirectory(t) },
      cwd: root,
    })
    t.after(() => child.kill('SIGKILL'))
    child.stdout.destroy()
    // By its second answer, the program has printed its start-up lines.
    for (let answers = 0; answers < 2; await sleep(50)) {
      assert.deepEqual([child.exitCode, child.signalCode], [null, null], `${args[0]} ended`)
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
      await answer?.arrayBuffer()
      if (answer) answers++
    }
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  }
})
