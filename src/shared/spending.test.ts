// The table of spending: requests that providers charge for count as inferences, and no other requests do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countsTokens, spendsOf } from './spending.ts'

const CASES = {
  yes: [
    'POST chat/completions',
    'POST messages',
    'POST models/gemini:generateContent',
    'POST audio/speech',
    'POST images/edits',
    'POST rerank',
    'POST batches',
    'POST messages/batches',
    'POST something/of/tomorrow',
    'POST files/../chat/completions',
    'POST responses/compact',
    'POST responses/resp_1/again',
    'POST batches/one/two/cancel',
  ],
  may: ['POST moderations'],
  no: [
    'POST messages/count_tokens',
    'POST models/a/b:countTokens',
    'POST batches/batch_1/cancel',
    'POST messages/batches/msgbatch_1/cancel',
    'POST responses/resp_1/cancel',
    'POST files',
    'GET files/file-1/content',
    'GET batches',
    'DELETE files/file-1',
    'GET models',
    'HEAD chat/completions',
  ],
} as const

for (const [spends, requests] of Object.entries(CASES))
  test(`the table lists the requests that spend: ${spends}`, () => {
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ')
      assert.equal(spendsOf(method, path), spends, request)
    }
  })

test('only a POST counts as a counting request', () => {
  assert.ok(countsTokens('POST', 'messages/count_tokens'))
  assert.ok(!countsTokens('GET', 'messages/count_tokens'))
  assert.ok(!countsTokens('POST', 'messages'))
})
