// Tests that evidence of an earlier suite is judged by the requirements of that time.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readRequirements } from '../checks/requirements.ts'
import { entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { ownTargets, readTarget } from '../target/read.ts'
import { compareWithBaseline } from './compare.ts'
import { judge, type RunFile } from './judge.ts'

const target = readTarget(join(ownTargets, 'waybill.yaml'))

/** Returns the verdict on DIAL-02 for a call with a version that did not reach the provider. */
function verdict(suite: string) {
  const run: RunFile = {
    ...{ format: 2, suite, profile: 'core', target, started_at: 0, ended_at: 20_000 },
    ...{ only: ['DIAL-02'], disabled: {}, quick: false, inferences: 1, stopped: null },
    ...{ live: null, environment: {}, reproduce: 'waybill conform' },
  }
  const call = exchange({
    request: { method: 'POST', path: '/v1/messages', headers: {}, body: '{}' },
  })
  const seen = evidence([call], [entry({ endpoint: 'messages', path: '/v1/messages' })], {
    check: 'DIAL-02',
    facts: { dialect: 'messages' },
  })
  return judge(run, new Map([['DIAL-02', seen]]), readRequirements()).verdicts.find(
    ({ id }) => id === 'DIAL-02',
  )!
}

test('a check that has become stricter does not judge evidence from an earlier suite (SUITE-03)', () => {
  assert.equal(verdict('4.0').outcome, 'warn')
  const { outcome, reason } = verdict('3.2')
  assert.equal(outcome, 'not-applicable')
  assert.equal(reason, 'not asked in this evidence: suite 3.2 made it, and the check is of suite 4.0')
})

test('breaking an advisory part of a MUST causes a warning in the core profile and a failure in Waybill’s (FAIL-04)', () => {
  const busy = exchange({
    step: 'the provider is busy',
    status: 429,
    body: '{"error":{"message":"synthetic"}}',
  })
  const seen = evidence([busy], [entry()], { check: 'FAIL-04' })
  const outcome = (profile: RunFile['profile']) => {
    const run: RunFile = {
      ...{ format: 2, suite: '4.0', profile, target, started_at: 0, ended_at: 20_000 },
      ...{ only: ['FAIL-04'], disabled: {}, quick: false, inferences: 1, stopped: null },
      ...{ live: null, environment: {}, reproduce: 'waybill conform' },
    }
    const { verdicts } = judge(run, new Map([['FAIL-04', seen]]), readRequirements())
    return verdicts.find(({ id }) => id === 'FAIL-04')!.outcome
  }
  assert.equal(outcome('core'), 'warn')
  assert.equal(outcome('waybill'), 'fail')
})

test('a failure in the baseline is excused up to and including the last day of its entry', () => {
  const failing = { ...verdict('4.0'), outcome: 'fail', level: 'MUST', scored: true } as const
  const entry = { id: failing.id, reason: 'known', expires: '2026-11-29' }
  const compared = (today: string) => compareWithBaseline({ verdicts: [failing] } as never, [entry], today)
  const excused = { failed: [], known: [entry.id], stale: [] }
  assert.deepEqual([compared('2026-11-28'), compared('2026-11-29')], [excused, excused])
  assert.deepEqual(compared('2026-11-30'), { failed: [entry.id], known: [], stale: [entry.id] })
})
