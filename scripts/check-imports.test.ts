import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offence } from './check-imports.ts'

for (const [file, target, allowed] of [
  ['src/store/store.ts', 'src/call.ts', true],
  ['src/store/store.ts', 'src/store/writes.ts', true],
  ['src/store/store.ts', 'src/store/sqlite/open.ts', false],
  ['src/store/sqlite/open.ts', 'src/store/store.ts', true],
  ['src/endpoints/query.ts', 'src/store/sqlite/open.ts', false],
  ['src/store/store.ts', 'src/http/reply.ts', false],
  ['src/providers/send.ts', 'src/store/store.ts', false],
  ['src/call.ts', 'src/http/reply.ts', false],
  ['src/redact.ts', 'src/call.ts', false],
  ['src/pipeline.ts', 'src/providers/send.ts', true],
  ['mocks/replay.ts', 'src/redact.ts', true],
  ['mocks/replay.ts', 'src/call.ts', false],
  ['src/gateway.ts', 'mocks/intercept.ts', false],
  ['src/gateway.ts', 'scripts/bench.ts', false],
  ['src/gateway.test.ts', 'mocks/intercept.ts', true],
  ['elsewhere/file.ts', 'src/call.ts', false],
] as const)
  test(`${file} ${allowed ? 'may' : 'may not'} import ${target}`, () => {
    assert.equal(offence(file, target) === null, allowed)
  })
