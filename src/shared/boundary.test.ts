import assert from 'node:assert/strict'
import { EventEmitter, once as event } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { after, detached, first, on, onStray, REPORTED, stray } from './boundary.ts'

function reports(t: TestContext): unknown[] {
  const all: unknown[] = []
  t.after(onStray((error) => all.push(error)))
  return all
}

test('a listener that throws, or whose promise rejects, ends its exchange with its arguments, and is reported once', async (t) => {
  const reported = reports(t)
  const ended: unknown[] = []
  const emitter = new EventEmitter()
  const listeners = {
    now() {
      throw new Error('now')
    },
    async later() {
      throw null
    },
  }
  on(emitter, listeners, ({ message }, ...given: unknown[]) => void ended.push([message, ...given]))
  emitter.emit('now', 1, 2)
  emitter.emit('later', 3, 4)
  await turn()
  assert.deepEqual(ended, [
    ['now', 1, 2],
    ['null', 3, 4],
  ])
  assert.deepEqual(reported.map(String), ['Error: now', 'Error: null'])
})

test('a fault that was reported already is not reported again; a fault that itself fails is', async (t) => {
  const reported = reports(t)
  detached(Promise.reject(new Error('known')), () => REPORTED)
  detached(Promise.reject(new Error('stray')), stray)
  detached(Promise.reject(new Error('first')), () => {
    throw new Error('second')
  })
  await turn()
  assert.deepEqual(reported.map(String), ['Error: stray', 'Error: first', 'Error: second'])
})

test('a reporter that throws stops no other reporter, and without one a warning appears', async (t) => {
  const end = onStray(() => {
    throw new Error('a reporter')
  })
  const reported = reports(t)
  stray('a')
  assert.deepEqual(reported, ['a'])
  end()
})

test('a timer that throws is contained, and only the first of several events is handled', async (t) => {
  const reported = reports(t)
  after(1, () => assert.fail('timer'), stray)
  const emitter = new EventEmitter()
  let handled = 0
  first(emitter, { a: () => handled++, b: () => handled++ }, stray)
  const b = event(emitter, 'b')
  emitter.emit('a')
  emitter.emit('b')
  await b
  while (reported.length === 0) await turn()
  assert.equal(handled, 1)
  assert.match(String(reported[0]), /timer/)
})
