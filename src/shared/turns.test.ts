import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pause } from '../test/test-until.ts'
import { clock } from './clock.ts'
import { MEMORY } from './memory.ts'
import { inTurn, LARGE_BYTES, mustWait, resultInTurn } from './turns.ts'

/** Keeps the thread busy. */
function work(ms: number): void {
  const end = clock.monotonic() + ms
  while (clock.monotonic() < end);
}

const fault = (error: unknown) => assert.fail(String(error))

test('keys have their turns one after the other, each in its own turn of the event loop', async () => {
  const order: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const name of ['ann 1', 'ann 2', 'ann 3', 'bob 1', 'bob 2', 'eve 1'])
    inTurn(name.slice(0, 3), () => void (order.push(name) === 6 && resolve()), fault)
  assert.deepEqual(order, ['ann 1'], 'the first does not wait')
  await promise
  assert.deepEqual(order, ['ann 1', 'ann 2', 'bob 1', 'eve 1', 'ann 3', 'bob 2'])
})

test('other keys with open calls have the thread for three times as long as the work took', async (t) => {
  const bob = MEMORY.open('bob', 'demand')
  t.after(() => bob.release())
  await pause(50)
  const times: [begin: number, end: number][] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  for (let n = 0; n < 3; n++)
    inTurn(
      'ann',
      () => {
        const begin = clock.monotonic()
        work(20)
        times.push([begin, clock.monotonic()])
        if (times.length === 3) resolve()
      },
      fault,
    )
  await promise
  assert.ok(times[1]![0] - times[0]![1] >= 58)
  assert.ok(times[2]![0] - times[1]![1] >= 58)
})

test('an exception goes to the owner of the work, and the next has its turn', async () => {
  const faults: unknown[] = []
  inTurn('ann', () => {}, fault)
  inTurn(
    'ann',
    () => {
      throw new Error('broken')
    },
    (error) => faults.push(error),
  )
  assert.equal(await resultInTurn('ann', LARGE_BYTES, () => 7), 7)
  assert.match(String(faults), /broken/)
  assert.equal(
    resultInTurn('ann', LARGE_BYTES - 1, () => 8),
    8,
  )
})

test('promises that the work settles count as its time', async (t) => {
  const bob = MEMORY.open('bob', 'demand')
  t.after(() => bob.release())
  await pause(50)
  const { promise, resolve } = Promise.withResolvers<number>()
  let end = 0
  const first = () =>
    void Promise.resolve()
      .then(() => {})
      .then(() => {
        work(20)
        end = clock.monotonic()
      })
  inTurn('ann', first, fault)
  inTurn('ann', () => resolve(clock.monotonic() - end), fault)
  assert.ok((await promise) >= 58)
})

test('a key waits after many small pieces as after a large one, if other keys have calls open', async (t) => {
  const pieces = (name: string) => Array.from({ length: 4 }, () => mustWait(name, LARGE_BYTES / 4))
  await pause(1_100) // the calls of other tests are gone, but their keys may have remembered items
  assert.deepEqual(pieces('ann'), [false, false, false, MEMORY.hasOtherKeys('ann')])
  await new Promise<void>((resolve) => inTurn('ann', resolve, fault))
  const bob = MEMORY.open('bob', 'demand')
  t.after(() => bob.release())
  assert.deepEqual(pieces('ann'), [false, false, false, true])
  assert.equal(mustWait('ann', 1), true, 'it has had no turn yet')
  const ofOneByte = Array.from({ length: 1_100 }, () => mustWait('eve', 1))
  assert.ok(ofOneByte.indexOf(true) > 900, 'each takes as long as some hundred bytes')
  await new Promise<void>((resolve) => inTurn('ann', resolve, fault))
  assert.deepEqual(pieces('ann'), [false, false, false, true])
})
