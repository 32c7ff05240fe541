import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentId, parseStored } from './earlier-names.ts'

test('a run stored by an earlier version is read with the current names', () => {
  const run = {
    format: 2,
    target: { name: 'x', surfaces: { messages: {} }, witness_port: 0, env: { K: '{{witness.openai.key}}' } },
  }
  assert.deepEqual(parseStored(JSON.stringify(run)), {
    format: 2,
    target: { name: 'x', dialects: { messages: {} }, mock_port: 0, env: { K: '{{mock.openai.key}}' } },
  })
  const evidence = {
    facts: { surface: 'messages' },
    exchanges: [{ body: 'key [secret:witness.openai.key], surface' }],
  }
  assert.deepEqual(parseStored(JSON.stringify(evidence)), {
    facts: { dialect: 'messages' },
    exchanges: [{ body: 'key [secret:mock.openai.key], surface' }],
  })
})

test('a renamed finding can be looked up by its earlier name', () => {
  assert.equal(currentId('PURE-08/calls-reach-the-witness'), 'PURE-08/calls-reach-the-mock')
  assert.equal(currentId('KEEP-01'), 'KEEP-01')
})
