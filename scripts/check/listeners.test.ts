import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offences } from './listeners.ts'

test('listeners, timers and dropped promises outside of the boundary are refused, and other clocks', () => {
  const refused = [
    "socket.on('data', take)",
    "emitter.once('close', () => done())",
    "signal.addEventListener('abort', leave)",
    'setTimeout(() => work(), 10)',
    'timer = setInterval(look, 10)',
    'setImmediate(clean)',
    'process.nextTick(() => push())',
    'response.setTimeout(idle, () => response.destroy())',
    'clock.after(10, work)',
    'const now = Date.now()',
    'now = Date.now,',
    'const began = performance.now()',
    'const today = new Date().toISOString()',
    'signal: AbortSignal.timeout(10),',
    "import { setTimeout as sleep } from 'node:timers/promises'",
    "t.mock.timers.enable({ apis: ['setInterval'] })",
    '    void this.ship()',
    'const id = randomUUID()',
    'const at = Math.random() * 9',
    'void shipNow().catch(() => {})',
  ]
  for (const line of refused) assert.equal(offences('src/a/b.ts', line).length, 1, line)
})

test('the boundary, promises that only wait, comments and tests are accepted', () => {
  const accepted = [
    'on(socket, { data }, () => socket.destroy())',
    "response.prependOnceListener('finish', guarded(finish, stray))",
    'after(10, work, stray)',
    'setImmediate(guarded(look, broken))',
    'timer = clock.after(100, resolve)',
    'const began = clock.monotonic()',
    'const made = new Date(created_at)',
    "import { setImmediate as turn } from 'node:timers/promises'",
    'setTimeout(ms: number): this {',
    'response.setTimeout(0)',
    'const id = chance.uuid()',
    'response.setTimeout(this.#options.idle)',
    'const close = () => void this.#held.delete(response)',
    "// socket.on('data', take)",
    " * socket.on('data', take)",
  ]
  for (const line of accepted) assert.deepEqual(offences('src/a/b.ts', line), [], line)
  assert.deepEqual(offences('src/a/b.test.ts', "socket.on('data', take)"), [])
  assert.deepEqual(offences('src/a/b.slow-test.ts', 'const now = Date.now()'), [])
  assert.equal(offences('mocks/a/b.test.ts', 'const now = Date.now()').length, 1)
  assert.deepEqual(offences('src/commands/run.ts', 'return randomUUID()'), [])
  assert.deepEqual(offences('src/page/live.ts', "socket.on('data', take)"), [])
})
