// A command started by npm ends together with the shell that npm put in between, because npm sends a signal
// only to that shell.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CLI, ENVIRONMENT } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const COMMANDS: Record<string, string> = {
  serve: `serve --replay -c ${root}examples/waybill.yaml --port 0`,
  mock: 'mock --port 0 --control-port 0',
}

/** Script that npm's shell runs; `$run` is the command. */
type Line = '$run; true' | '$run & wait'

/** Time for which a command that keeps running is watched, ms. */
const KEEPS_MS = 1_500

/** Starts a command behind a shell, ends the shell, and returns true if the command ends too within `ms`. */
async function endShell(
  command: string,
  line: Line,
  env: Record<string, string>,
  ms: number,
): Promise<boolean> {
  const run = `sh -c 'echo pid=$$; exec "${process.execPath}" "${CLI}" ${command}'`
  const shell = spawn('/bin/sh', ['-c', line.replace('$run', () => run)], {
    env: { ...ENVIRONMENT, ...env },
    cwd: root,
  })
  let stdout = ''
  shell.stdout.setEncoding('utf8').on('data', (part) => (stdout += part))
  while (!/listens on/.test(stdout)) await sleep(20)
  const pid = Number(/pid=(\d+)/.exec(stdout)![1])
  const url = /listens on (http:[^\s",:]+:\d+)/.exec(stdout)![1]!
  const isThere = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  assert.equal(await isThere(), true)
  shell.kill('SIGTERM')
  for (const end = Date.now() + ms; Date.now() < end && (await isThere()); ) await sleep(50)
  const ended = !(await isThere())
  if (!ended) process.kill(pid, 'SIGKILL')
  return ended
}

// All cases run at the same time, because they mostly wait.
describe('a command behind a shell', { concurrency: true }, () => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    const npm = { npm_lifecycle_event: 'npx' }
    test(`${name} that npm started ends when its shell is terminated`, async (t) => {
      const env = { ...npm, WAYBILL_DATA: temporaryDirectory(t) }
      assert.equal(await endShell(command, '$run; true', env, 30_000), true)
    })
    test(`${name} that was not started through npm keeps running`, async (t) => {
      assert.equal(
        await endShell(command, '$run; true', { WAYBILL_DATA: temporaryDirectory(t) }, KEEPS_MS),
        false,
      )
    })
    test(`${name} that an npm script put into the background keeps running`, {
      skip: process.platform !== 'linux' && 'only Linux tells a process that it is in the background',
    }, async (t) => {
      const env = { ...npm, WAYBILL_DATA: temporaryDirectory(t) }
      assert.equal(await endShell(command, '$run & wait', env, KEEPS_MS), false)
    })
  }
})
