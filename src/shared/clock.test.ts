import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../test/test-gateway.ts'
import { after, every, signalAfter, stray } from './boundary.ts'
import { clock, SYSTEM_CLOCK, sleep, useClock } from './clock.ts'
import { manualClock } from './test-clock.ts'

test('a clock is in use until it is left, whichever of two is left first', () => {
  const [first, second] = [manualClock(1), manualClock(2)]
  const leaveFirst = useClock(first)
  const leaveSecond = useClock(second)
  leaveFirst()
  assert.equal(clock, second)
  leaveSecond()
  leaveFirst()
  assert.equal(clock, SYSTEM_CLOCK)
})

test('timers of the boundary, sleeps and signals run at their time on a clock that is advanced', async (t) => {
  const manual = manualClock(0)
  t.after(useClock(manual))
  const said: string[] = []
  const say = (what: string) => () => said.push(`${what} ${clock.now()}`)
  after(30, say('once'), stray)
  const again = every(20, say('every'), stray)
  const moved = after(10, say('moved'), stray)
  after(5, () => moved.refresh(), stray)
  after(10, say('ended'), stray).close()
  void sleep(25)
    .then(() => sleep(10))
    .then(say('slept'))
  const signal = signalAfter(35)
  signal.addEventListener('abort', say(signal.aborted ? '' : 'aborted'))
  await manual.advance(34)
  assert.deepEqual(said, ['moved 15', 'every 20', 'once 30'])
  await manual.advance(6)
  again.close()
  await manual.advance(100)
  assert.deepEqual(said.slice(3), ['aborted 35', 'slept 35', 'every 40'])
  assert.equal((signal.reason as Error).name, 'TimeoutError')
})

test('the clock of a gateway is in use until the gateway is closed, and no longer after a failed start', async (t) => {
  const manual = manualClock()
  const { gateway, data } = await testGateway(t, { clock: manual })
  await assert.rejects(testGateway(t, { data, clock: manualClock() }), /in use/)
  assert.equal(clock, manual)
  await manual.during(gateway.close())
  assert.equal(clock, SYSTEM_CLOCK)
})
