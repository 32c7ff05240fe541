// Tests gateways that report records in their own way or accept keys in another header. Their checks run and
// pass, and an error in a record is found even if no id connects the record with its call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { targetOf, tryMustPass } from '../selftest/run.ts'
import { declares, targetSchema } from '../target/schema.ts'
import { conform } from './run.ts'

/** Must-fail gateways: name -> the check that finds the mistake. */
const MUST_FAIL = { 'logs-the-requested': 'LOG-02', 'doubles-on-record': 'USE-02' }
const LOGGED = ['LOG-01', 'LOG-02', 'LOG-04', 'LOG-06', 'LOG-07', 'USE-02']

test('records can be found by an id in the answer’s body (LOG-02, LOG-04, LOG-06, LOG-07, TELL-03, USE-02)', async () => {
  const { outcomes, wronglyFailed } = await tryMustPass('id-in-the-body', [...LOGGED, 'TELL-03', 'FLOW-01'])
  assert.deepEqual(wronglyFailed, new Map())
  for (const id of [...LOGGED, 'TELL-03']) assert.equal(outcomes.get(id), 'pass', id)
})

test('a record without an identifying value can be found because it is new (LOG-02, LOG-04, LOG-06, LOG-07, USE-02)', async () => {
  const { outcomes, wronglyFailed } = await tryMustPass('tells-no-id', [...LOGGED, 'TELL-03'])
  assert.deepEqual(wronglyFailed, new Map())
  for (const id of LOGGED) assert.equal(outcomes.get(id), 'pass', id)
  assert.equal(outcomes.get('TELL-03'), 'not-applicable')
})

test('an error in a record is detected even if no value identifies the call (LOG-02, USE-02)', async () => {
  for (const [fault, id] of Object.entries(MUST_FAIL)) {
    const { observability, ...target } = targetOf(fault)
    const { request_id: _, ...headers } = observability.headers
    const { results } = await conform({
      target: { ...target, observability: { ...observability, headers } },
      profile: 'observable',
      quick: true,
      only: [id],
    })
    const verdict = results.verdicts.find((each) => each.id === id)
    assert.equal(verdict?.outcome, 'fail', `${fault}: ${verdict?.reason}`)
  }
})

test('keys are sent in the header named in the target file (KEEP-02, KEEP-03)', async () => {
  const only = ['KEEP-01', 'KEEP-02', 'KEEP-03', 'PURE-07']
  const { outcomes, wronglyFailed } = await tryMustPass('keys-in-x-api-key', only)
  assert.deepEqual(wronglyFailed, new Map())
  for (const id of only) assert.equal(outcomes.get(id), 'pass', id)
})

test('the target file declares how to look up records separately from the contents of response headers', () => {
  const of = (observability: object) =>
    targetSchema.parse({
      name: 'x',
      start: { url: 'http://127.0.0.1:1' },
      providers: { openai: {} },
      models: { call: 'm' },
      observability,
    })
  const log = { path: '/log', list: '/data', fields: { id: '/id' } }
  for (const [observability, record, id] of [
    [{}, false, false],
    [{ headers: { request_id: 'x-id' } }, false, false],
    [{ log }, true, false],
    [{ log, request_id_pointer: '/id' }, true, true],
    [{ log, headers: { request_id: 'x-id' } }, true, true],
  ] as const) {
    assert.equal(declares(of(observability), 'record'), record, JSON.stringify(observability))
    assert.equal(declares(of(observability), 'request_id'), id, JSON.stringify(observability))
  }
})
