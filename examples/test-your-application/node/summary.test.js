import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createWitness } from 'waybill/mocks'
import { summarize } from './summary.js'

let witness
before(async () => {
  witness = await createWitness() // on a free port of this machine
})
after(() => witness.close())
beforeEach(() => witness.clear())

const at = (model) => ({ url: witness.baseUrl('openai'), key: witness.key('openai'), model })

test('a text is summarized by one valid call', async () => {
  const summary = await summarize('A waybill lists the goods of a consignment.', at('gpt-5.4'))

  assert.match(summary, /recorded answer/)
  const [call, ...more] = witness.entries()
  assert.deepEqual(call.problems, []) // the provider would have taken this request
  assert.equal(call.model, 'gpt-5.4')
  assert.equal(more.length, 0)
})

test('a busy provider is said in plain words', async () => {
  await assert.rejects(summarize('Anything.', at('scenario-429')), /^Error: the provider is busy/)
})
