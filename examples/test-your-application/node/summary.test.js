import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createMockProviders } from 'waybill/mocks'
import { summarize } from './summary.js'

let mock
before(async () => {
  mock = await createMockProviders() // on a free port of this machine
})
after(() => mock.close())
beforeEach(() => mock.clear())

const at = (model) => ({ url: mock.baseUrl('openai'), key: mock.key('openai'), model })

test('a text is summarized by one valid call', async () => {
  const summary = await summarize('A waybill lists the goods of a consignment.', at('gpt-5.4'))

  assert.match(summary, /recorded answer/)
  const [call, ...more] = mock.entries()
  assert.deepEqual(call.problems, []) // the provider would have accepted this request
  assert.equal(call.model, 'gpt-5.4')
  assert.equal(more.length, 0)
})

test('the model answers with the text of the test', async () => {
  mock.answer({ say: { text: 'Goods on paper.' } }) // answers the next call, whatever its prompt is
  assert.equal(await summarize('A waybill lists goods.', at('gpt-5.4')), 'Goods on paper.')
})

test('a busy provider is reported in plain words', async () => {
  await assert.rejects(summarize('Anything.', at('scenario-429')), /^Error: the provider is busy/)
})
