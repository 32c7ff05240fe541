// Makes every registered listener throw, one in each run, and checks that this ends no more than one exchange. A first
// run of each piece of work notes which listeners it reaches.
import { test } from 'node:test'
import { breakOnce, type Reached, sitesOf } from './test-broken-listener.ts'
import type { Failure } from './test-listeners.ts'
import { IS_FULL } from './test-size.ts'
import { startMock, WORK } from './test-workload.ts'

/** Sites to try, as a regular expression; by default all. */
const ONLY = new RegExp(process.env.WAYBILL_SITES ?? '')

test('an exception in any listener ends no more than one exchange (LIFE-09)', {
  timeout: 3_600_000,
  skip: IS_FULL ? false : 'it takes minutes; WAYBILL_TESTS=full runs it, and boundary.test.ts a sample',
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
  const bySite = [...Map.groupBy(reached, ({ site }) => site)].sort()
  const never: string[] = []
  for (const [at, [site, all]] of bySite.entries()) {
    if (!ONLY.test(site)) continue
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
    const { work, called } = shortest[0]!
    const failures: [Failure, number][] = [
      ['throws', 1],
      ['late', 1],
      ['throws null', Math.max(1, Math.min(3, called))],
      ...(all.some((each) => each.isAsync) ? [['rejects', 1] as [Failure, number]] : []),
    ]
    // Earlier messages of a database thread belong to the start.
    const call = / message$/.test(site) && site.includes('sqlite/thread.ts') ? 4 : 1
    const chosen = IS_FULL ? failures : [failures[at % failures.length]!]
    for (const [failure, n] of chosen)
      await t.test(`${site}, listener ${n} ${failure} (${work})`, async (t) => {
        for (let tries = 0; tries < 3; tries++)
          if (await breakOnce(t, mock, { site, work, n, failure, isHasty, call: tries === 0 ? call : 1 }))
            return
        never.push(site)
      })
  }
  t.diagnostic(`${bySite.length} sites; registered, but never called: ${[...new Set(never)].join(', ')}`)
})
