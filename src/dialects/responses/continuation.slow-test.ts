// Runs the turns of ten thousand conversations without a pause between turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../test/test-gateway.ts'
import { converse, keepsAnswers } from './test-continuations.ts'

test('10,000 continuations without a pause all find the previous answer (RSP-06)', {
  timeout: 300_000,
}, async (t) => {
  const { url } = await testGateway(t, {
    providers: { alpha: keepsAnswers() },
    dialects: { alpha: ['responses'] },
  })
  assert.deepEqual(await converse([url], { count: 10_000, lanes: 4 }), [])
})
