import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offences } from './listeners.ts'

test('listeners, timers, callbacks for a timeout and dropped promises outside of the boundary are refused', () => {
  const refused = [
    "socket.on('data', take)",
    "emitter.once('close', () => done())",
    "signal.addEventListener('abort', leave)",
    'setTimeout(() => work(), 10)',
    'timer = setInterval(look, 10)',
    'setImmediate(clean)',
    'process.nextTick(() => push())',
    'response.setTimeout(idle, () => response.destroy())',
    '    void this.ship()',
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
    'await new Promise((resolve) => setTimeout(resolve, 100))',
    'response.setTimeout(0)',
    'response.setTimeout(this.#options.idle)',
    'const close = () => void this.#held.delete(response)',
    "// socket.on('data', take)",
    " * socket.on('data', take)",
  ]
  for (const line of accepted) assert.deepEqual(offences('src/a/b.ts', line), [], line)
  assert.deepEqual(offences('src/a/b.test.ts', "socket.on('data', take)"), [])
  assert.deepEqual(offences('src/page/live.ts', "socket.on('data', take)"), [])
})
