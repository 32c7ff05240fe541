// Runs the turns of many conversations without a pause between turns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../../test/test-gateway.ts'
import { IS_FULL } from '../../test/test-size.ts'
import { converse, keepsAnswers } from './test-continuations.ts'

const COUNT = IS_FULL ? 10_000 : 1_000

test(`${COUNT} continuations without a pause all find the previous answer (RSP-06)`, async (t) => {
  const { url } = await testGateway(t, {
    providers: { alpha: keepsAnswers() },
    dialects: { alpha: ['responses'] },
  })
  assert.deepEqual(await converse([url], { count: COUNT, lanes: 4 }), [])
})
