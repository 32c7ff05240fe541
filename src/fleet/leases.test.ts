// Leases without a shared log: what is admitted while a lease is asked for, and when an unused one is given back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLeases, type LeaseDeps } from './leases.ts'

const BUDGET = { keyName: 'ann', period: '2026-11-29', usd: 100 }

/** Leases of the only gateway of a fleet, with answers of the shared log that the test gives. */
function start() {
  const asked: { readonly answer: (granted: number | null) => void }[] = []
  let spent = 0
  const deps: LeaseDeps = {
    spent: () => spent,
    ...{ reserved: () => 0, spentElsewhere: () => 0, live: () => 1, now: () => 0 },
    ask: () => new Promise((answer) => asked.push({ answer })),
  }
  const leases = createLeases(deps)
  let admitted = 0
  const cover = (usd: number) => leases.cover([BUDGET], usd, () => void admitted++)
  const spend = (usd: number) => {
    spent += usd
  }
  return { leases, asked, cover, admitted: () => admitted, spend }
}

test('while a lease is asked for, an earlier report of the shared log admits no call', async () => {
  const { leases, asked, cover, admitted } = start()
  const first = cover(1)
  leases.heard([{ ...BUDGET, usd: 99 }])
  const second = cover(50)
  assert.equal(admitted(), 0)
  assert.equal(asked.length, 1)
  asked[0]!.answer(60)
  assert.deepEqual([await first, await second], [null, null])
  assert.equal(admitted(), 2)
  leases.heard([{ ...BUDGET, usd: 99 }])
  assert.equal(cover(90), null, 'afterwards, a report is believed')
})

test('a lease is given back once nothing has used it for ten seconds', async () => {
  const { leases, asked, cover, spend } = start()
  const covered = cover(1)
  asked[0]!.answer(20)
  await covered
  spend(1)
  const beats = Array.from({ length: 12 }, () => leases.beat())
  const at = beats.findIndex((back) => back !== null)
  assert.equal(at, 10)
  assert.deepEqual(beats[at], { keyName: 'ann', period: '2026-11-29', usd: 19 })
})
