import assert from 'node:assert/strict'
import test from 'node:test'
import { arrivedAt } from '../provider.ts'
import { openAiResponses } from './openai-responses.ts'

test('a tool is not called again after its result, even if an earlier message has no type', () => {
  const wants = (input: unknown) =>
    openAiResponses.wants(
      arrivedAt({
        ...{ method: 'POST', path: 'responses' },
        json: { model: 'm', tools: [{ type: 'function' }], input },
      }),
      {},
    ).tools
  const message = { role: 'user', content: 'What is the time?' }
  assert.equal(wants([message]), true)
  assert.equal(wants([message, { type: 'function_call_output', call_id: 'call_1', output: 'noon' }]), false)
})
