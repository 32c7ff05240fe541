// Tests the cleanup after the end of a command's first process: a worker below it is ended, and the command's
// pipes are closed.
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Process } from './instance.ts'
import { runCommand } from './local.ts'

/**
 * Starts a shell that runs `worker` in the background and then `meanwhile`. Resolves when its output has
 * arrived.
 */
async function startAbove(
  t: TestContext,
  worker: string,
  meanwhile: string,
): Promise<{ supervisor: Process; pid: number }> {
  const code = `${worker}; console.log(process.pid)`
  const command = ['sh', '-c', `"$0" -e "$1" & ${meanwhile}`, process.execPath, code]
  const supervisor = await runCommand(command, { cwd: tmpdir(), env: {} })
  t.after(() => supervisor.stop('killed'))
  while (!supervisor.output().endsWith('\n')) await sleep(20)
  return { supervisor, pid: Number(supervisor.output()) }
}

async function hasEnded(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 200; tries++, await sleep(20))
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
  process.kill(pid, 'SIGKILL')
  return false
}

const openPipes = (): number => process.getActiveResourcesInfo().filter((each) => each === 'PipeWrap').length
async function assertPipes(expected: number): Promise<void> {
  // A pipe closes one turn of the event loop after it is destroyed.
  for (let tries = 0; tries < 20 && openPipes() !== expected; tries++) await sleep(20)
  assert.equal(openPipes(), expected)
}

const FOREVER = 'setInterval(() => {}, 1000)'

test('a worker that outlives its supervisor is ended and does not keep pipes open', async (t) => {
  const before = openPipes()
  const { supervisor, pid } = await startAbove(t, FOREVER, 'sleep 3; exit 1')
  while (supervisor.alive()) await sleep(20)
  assert.ok(await hasEnded(pid), 'the worker runs on')
  await supervisor.stop('killed')
  await assertPipes(before)
})

test('a worker that leaves its process group does not keep pipes open', async (t) => {
  const before = openPipes()
  const own = `require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 6000)'], { detached: true, stdio: 'inherit' })`
  const { supervisor } = await startAbove(t, own, 'wait')
  await supervisor.stop('killed')
  await assertPipes(before)
})

test('after its supervisor has ended, a worker has time to exit by itself', async (t) => {
  const slowly = `process.on('SIGTERM', () => setTimeout(() => { console.log('done'); process.exit() }, 1000)); ${FOREVER}`
  const { supervisor, pid } = await startAbove(t, slowly, 'wait')
  await supervisor.stop('politely')
  assert.match(supervisor.output(), /done/)
  assert.ok(await hasEnded(pid))
})
