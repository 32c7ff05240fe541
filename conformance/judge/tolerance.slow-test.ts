// Tests that the suite requires only the written contract, not the behaviour of the reference.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sample } from '../../src/test/test-size.ts'
import { conform } from '../runner/run.ts'
import { targetOf } from '../selftest/run.ts'

for (const strategy of sample(['random', 'round-robin'], 2))
  test(`a gateway may try targets in any order, for example ${strategy} (PURE-04, ROUTE-07, TELL-02)`, async () => {
    const { files, ...target } = targetOf(strategy)
    const config = files['waybill.yaml']!
    const { results } = await conform({
      target: {
        ...target,
        start: { inproc: 'selftest/reference' },
        files: { 'waybill.yaml': config.replace('\n  auto:\n', `$&    strategy: ${strategy}\n`) },
      },
      profile: 'observable',
      only: [
        'PURE-04',
        'ROUTE-01',
        'ROUTE-04',
        'ROUTE-07',
        'ROUTE-08',
        'TELL-01',
        'TELL-02',
        'LOG-02',
        'LOG-07',
      ],
    })
    assert.ok(config.includes('\n  auto:\n'), 'the strategy was written in')
    const bad = results.verdicts.filter(({ outcome }) => outcome !== 'pass' && outcome !== 'disabled')
    assert.deepEqual(
      bad.map(({ id, outcome, reason }) => `${id} ${outcome}: ${reason}`),
      [],
    )
  })

test('a gateway that probes its providers with calls does not fail the check for reads that spend (PURE-01)', async () => {
  const name = 'probes-its-providers'
  const target = targetOf(name)
  const { results } = await conform({ target, profile: 'core', only: ['PURE-01'] })
  const { outcome, reason } = results.verdicts.find(({ id }) => id === 'PURE-01')!
  assert.equal(outcome, 'untestable', reason)
  assert.match(
    reason,
    /^inferences while reading: \d+ at the mock, and \d+ in [\d.]+ s in which nothing was asked: they cannot/,
  )
})
