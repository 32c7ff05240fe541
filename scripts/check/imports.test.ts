import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folderOf, offence, rules, unusedExports } from './imports.ts'

for (const [file, target, allowed] of [
  ['src/store/store.ts', 'src/core/call.ts', true],
  ['src/store/store.ts', 'src/store/writes.ts', true],
  ['src/store/store.ts', 'src/store/sqlite/open.ts', false],
  ['src/store/sqlite/open.ts', 'src/store/store.ts', true],
  ['src/endpoints/query.ts', 'src/store/sqlite/open.ts', false],
  ['src/store/store.ts', 'src/http/reply.ts', false],
  ['src/providers/send.ts', 'src/store/store.ts', false],
  ['src/core/call.ts', 'src/http/reply.ts', false],
  ['src/core/call.ts', 'src/pricing/pricing.ts', true],
  ['src/shared/redact.ts', 'src/core/call.ts', false],
  ['src/call/pipeline.ts', 'src/providers/send.ts', true],
  ['mocks/recording/replay.ts', 'src/shared/redact.ts', true],
  ['mocks/recording/replay.ts', 'src/core/call.ts', false],
  ['src/gateway/create-gateway.ts', 'mocks/library.ts', false],
  ['src/gateway/create-gateway.ts', 'scripts/bench.ts', false],
  ['src/gateway/gateway.test.ts', 'mocks/library.ts', true],
  ['conformance/runner/run.ts', 'src/gateway/create-gateway.ts', false],
  ['conformance/runner/run.ts', 'conformance/judge/judge.ts', true],
  ['conformance/judge/judge.ts', 'conformance/runner/run.ts', false],
  ['conformance/selftest/reference.ts', 'src/gateway/create-gateway.ts', true],
  ['src/elsewhere/file.ts', 'src/core/call.ts', false],
  // optional parts
  ['src/gateway/optional-parts.ts', 'src/fleet/fleet.ts', true],
  ['src/gateway/create-gateway.ts', 'src/fleet/fleet.ts', false],
  ['src/fleet/worker.ts', 'src/fleet/fleet.ts', true],
  ['src/commands/reconcile.ts', 'src/reconcile/bill.ts', true],
  ['src/commands/costs.ts', 'src/reconcile/bill.ts', false],
] as const)
  test(`${file} ${allowed ? 'may' : 'may not'} import ${target}`, () => {
    assert.equal(offence(rules, file, target) === null, allowed)
  })

test('the rule for the longest matching folder applies', () => {
  assert.equal(folderOf(rules, 'src/store/sqlite/open.ts'), 'src/store/sqlite')
  assert.equal(folderOf(rules, 'elsewhere/open.ts'), null)
})

test('an export that no other file uses is reported', () => {
  const texts = new Map([
    ['a.ts', 'export const used = 1\nexport const unused = used'],
    ['b.ts', "import { used } from './a.ts'"],
  ])
  assert.deepEqual(unusedExports(texts), ['a.ts: unused is exported, and nothing imports it'])
})
