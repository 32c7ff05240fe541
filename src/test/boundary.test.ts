// A sample of `boundary.slow-test.ts`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakOnce, sitesOf } from './test-broken-listener.ts'
import { startMock } from './test-workload.ts'

test('an exception in a listener of a call ends no more than this call, and a gateway adds no listener to the process (LIFE-09)', async (t) => {
  const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)])
  const before = listeners()
  const mock = await startMock(t)
  const work = 'large answers'
  const sites = await sitesOf(t, mock, work)
  for (const event of [/http\/body\.ts:\d+ data$/, /call\/answer\.ts:\d+ promise$/]) {
    const { site } = sites.find(({ site, called }) => event.test(site) && called > 0)!
    assert.ok(await breakOnce(t, mock, { site, work, n: 1, failure: 'throws', isHasty: false }), site)
  }
  assert.deepEqual(listeners(), before)
})
