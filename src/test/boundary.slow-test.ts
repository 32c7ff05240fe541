// Makes every registered listener throw, one in each run, and checks that this ends no more than one exchange. A first
// run of each piece of work notes which listeners it reaches. Takes 20 minutes, so that it runs with WAYBILL_TESTS=full;
// WAYBILL_SITES: sites to try, as a regular expression.
import { test } from 'node:test'
import { breakOnce, type Reached, sitesOf } from './test-broken-listener.ts'
import type { Failure } from './test-listeners.ts'
import { IS_FULL } from './test-size.ts'
import { startMock, WORK } from './test-workload.ts'

const ONLY = new RegExp(process.env.WAYBILL_SITES ?? '')

/** Sites that no client or provider reaches at will, with the reason. */
const UNREACHED: readonly (readonly [site: RegExp, reason: string])[] = [
  [/call\/kept-answers\.ts:\d+ close/, 'the mock deletes a response at once, so no client leaves before'],
  [/gateway\/listen\.ts/, 'the operating system accepts no connection'],
  [/http\/web-sockets\.ts:\d+ timer/, 'a client keeps its socket open while the gateway stops'],
  [/http\/relay\.ts:\d+ timeout/, 'a client stops to read at the very end of a broken stream'],
  [/store\/queue\.ts:\d+$/, 'reached only after another fault of the queue'],
  [/sqlite\/thread\.ts:\d+ error/, 'a thread dies; src/store/sqlite/threads.slow-test.ts ends threads'],
  [/websocket\/handshake\.ts:\d+ error/, 'a client leaves while the library is loaded for the first upgrade'],
]

test('an exception in any listener ends no more than one exchange (LIFE-09)', {
  timeout: 3_600_000,
  skip:
    IS_FULL || ONLY.source !== '(?:)'
      ? false
      : 'it takes minutes; WAYBILL_TESTS=full runs it, and boundary.test.ts a sample',
}, async (t) => {
  const mock = await startMock(t)
  const reached: (Reached & { ms: number })[] = []
  for (const work of Object.keys(WORK))
    await t.test(`sites of ${work}`, async (t) => {
      const began = performance.now()
      const sites = await sitesOf(t, mock, work)
      const ms = performance.now() - began
      reached.push(...sites.map((each) => ({ ...each, ms })))
    })
  const bySite = [...Map.groupBy(reached, ({ site }) => site)].sort().filter(([site]) => ONLY.test(site))
  const never: string[] = []
  for (const [site, all] of bySite) {
    const isHasty = all.every(({ called }) => called === 0)
    if (isHasty && !site.endsWith(' timer')) {
      never.push(site)
      continue
    }
    // A database thread that restarts while a response is stored leaves it unstored, which the work would report.
    const isThread = site.includes('sqlite/thread.ts')
    const shortest = all
      .filter((each) => isHasty || each.called > 0)
      .filter((each, _, rest) => !isThread || each.work !== 'stored responses' || rest.length === 1)
      .sort((a, b) => a.ms - b.ms)
    const { called } = shortest[0]!
    const failures: [Failure, number][] = [
      ['throws', 1],
      ['late', 1],
      ['throws null', Math.max(1, Math.min(3, called))],
      ...(all.some((each) => each.isAsync) ? [['rejects', 1] as [Failure, number]] : []),
    ]
    // Earlier messages of a database thread belong to the start.
    const call = / message$/.test(site) && site.includes('sqlite/thread.ts') ? 4 : 1
    for (const [failure, n] of failures)
      await t.test(`${site}, listener ${n} ${failure}`, async (t) => {
        for (let tries = 0; tries < 3; tries++) {
          // A hasty timer is not in time in every piece of work.
          const { work } = shortest[isHasty ? tries % shortest.length : 0]!
          const plan = { site, work, n, failure, isHasty, call: tries === 0 ? call : 1 }
          if (await breakOnce(t, mock, plan)) return
        }
        never.push(site)
      })
  }
  for (const site of new Set(never)) {
    const reason = UNREACHED.find(([pattern]) => pattern.test(site))?.[1] ?? 'not in time in this run'
    t.diagnostic(`registered, but never called: ${site}: ${reason}`)
  }
})
