// Tests that a cause shared by many failures is reported once, and that every failed finding names the answer
// to its call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequirements } from '../checks/requirements.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { causesOf } from './causes.ts'
import { html } from './html.ts'
import { judge, type RunFile, runSchema } from './judge.ts'
import { resultsTable } from './text.ts'
import { markdown } from './write.ts'

const STREAMS = ['FLOW-02', 'FLOW-04', 'FLOW-07', 'FLOW-08']
const BODY = '{"error":{"message":"cannot read properties of undefined"},"id":"01a2070b-8b2b"}'

const run: RunFile = runSchema.parse({
  ...{
    format: 2,
    suite: '3.0',
    profile: 'core',
    started_at: 0,
    ended_at: 1_000,
    only: [...STREAMS, 'ROUTE-03', 'PURE-08'],
  },
  ...{ disabled: {}, inferences: 9, stopped: null, environment: {}, reproduce: 'waybill conform x' },
  target: {
    name: 'x',
    start: { url: 'http://127.0.0.1:1' },
    providers: { openai: {} },
    models: { direct: [{ id: 'm', provider: 'openai', model: 'm' }] },
  },
})

const streamed = (check: string, n: number): Evidence => {
  const nonce = `${check}${n}`
  const calls = [1, 2].map((each) =>
    exchange(
      { n: each, nonce, status: 500, body: BODY.replace('8b2b', `8b2${n}`), script: [{ scenario: 'plain' }] },
      { model: 'm', stream: true },
    ),
  )
  const sent =
    'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  return evidence(calls, [entry({ nonce, stream: true }, { body: sent })], { check })
}

/** A different reason: the unknown model was answered. */
const other = evidence([exchange({ step: 'unknown model', details: { model: 'm' } })], [entry()], {
  check: 'ROUTE-03',
})

const all = new Map(
  [...STREAMS.map((id, index) => streamed(id, index)), other].map((each) => [each.check, each]),
)
const results = judge(run, all, readRequirements())

test('four failures with a common cause are reported in one sentence that states their number', () => {
  assert.deepEqual(
    results.causes.map(({ verdicts }) => verdicts),
    [STREAMS],
  )
  assert.match(
    results.causes[0]!.what,
    /^each streamed call was answered with 500 \{"error":\{"message":"cannot read/,
  )
  const failed = results.verdicts.filter(
    ({ outcome }) => outcome === 'fail' || outcome === 'untestable',
  ).length
  const sentence = new RegExp(`4 of ${failed}: each streamed call was answered with 500`)
  assert.match(resultsTable(results, { color: false, columns: 100 }), sentence)
  assert.match(markdown({ results, run, evidence: all }), sentence)
  assert.match(html({ results, run, evidence: all }), sentence)
})

test('a failed finding names the status of its call exactly once', () => {
  for (const { id, findings } of results.verdicts.filter((verdict) => STREAMS.includes(verdict.id)))
    for (const { ok, actual = '' } of findings)
      if (!ok) assert.equal(actual.match(/#\d was answered with 500 /g)?.length, 1, `${id}: ${actual}`)
})

test('no common cause is reported for expected failures, or for fewer than three similar failures', () => {
  const two = judge(run, new Map([...all].slice(0, 2)), readRequirements())
  assert.deepEqual(two.causes, [])
  const meant = new Map(
    [...all].map(([id, each]) => [
      id,
      {
        ...each,
        ledger: each.ledger.map((request) => ({ ...request, answer: { ...request.answer, status: 500 } })),
      },
    ]),
  )
  assert.deepEqual(judge(run, meant, readRequirements()).causes, [])
})

test('failures that concern the whole run are shown with the exchanges that prove them', () => {
  const twice = evidence([exchange()], [entry(), entry()], { check: 'ROUTE-01' })
  const kept = new Map([
    ['ROUTE-01', twice],
    ['remainder', evidence([], [], { check: 'remainder' })],
  ])
  const judged = judge(run, kept, readRequirements())
  const bad = judged.verdicts.find(({ id }) => id === 'PURE-08')!.findings.find(({ ok }) => !ok)!
  assert.deepEqual(bad.see?.slice(0, 1), ['ROUTE-01#1'])
  const page = html({ results: judged, run, evidence: kept })
  const anchors = [...page.matchAll(/href="#(PURE-08-[^"]+)"/g)].map(([, anchor]) => anchor!)
  assert.ok(anchors.length > 0)
  for (const anchor of anchors) assert.ok(page.includes(`id="${anchor}"`), anchor)
})

test('if a check sends a wrong key on purpose, the refusal does not count as the cause of other failures', () => {
  const refused = (check: string): Evidence =>
    evidence(
      [
        exchange({ n: 1, nonce: `${check}-1`, status: 401, body: '{"error":"no key"}' }, { model: 'm' }),
        exchange({ n: 2, nonce: `${check}-2` }, { model: 'm' }),
        exchange({ n: 3, nonce: `${check}-3` }, { model: 'm' }),
      ],
      [],
      { check },
    )
  const suspects = STREAMS.map((id) => ({ id, see: ['#1'], evidence: refused(id) }))
  const some = suspects.map((each) => each.evidence)
  assert.deepEqual(causesOf(suspects, some), [])
  const most = some.map((each) => ({ ...each, exchanges: each.exchanges.slice(0, 1) }))
  assert.equal(causesOf(suspects, most)[0]!.verdicts.length, STREAMS.length)
})
