// Tests that the answers of two calls never have the same id, and that all other bytes equal the recording.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf } from '../answer.ts'
import { writeNonce } from '../ledger.ts'
import { withOwnId } from './kept-answers.ts'
import { ask, chatBody, mockFor } from './test-mock.ts'

const answer = (...texts: string[]) => ({ from: 'x', status: 200, headers: {}, parts: texts.map(bytesOf) })
const told = ({ parts }: { parts: readonly unknown[] }) =>
  parts.map((part) => Buffer.from(part as Uint8Array).toString())

test('an answer’s id is replaced everywhere, even across chunks, by a new id of the same length', () => {
  const made = answer(
    '{"id":"resp_authored',
    '_responses","x":1}{"response_id":"resp_authored_responses","z":"ä"}',
  )
  assert.deepEqual(told(withOwnId(made, 'abcdef0123456789')), [
    '{"id":"resp_abcdef01',
    '2345678900","x":1}{"response_id":"resp_abcdef012345678900","z":"ä"}',
  ])
})

test('tool-call ids, short ids in scripts and answers without an id are not changed', () => {
  for (const text of ['{"id":"call_authored_tools_1"}', '{"id":"chatcmpl-synthetic"}', '{"error":{}}', ''])
    assert.deepEqual(told(withOwnId(answer(text), 'abcdef0123456789')), [text])
})

test('the answer to each call with a nonce has its own id, and the ledger shows the sent bytes', async (t) => {
  const mock = await mockFor(t)
  const call = async (prompt: string) => {
    const answer = await ask(mock, chatBody('gpt-5-mini', {}, prompt))
    return ((await answer.json()) as { id: string }).id
  }
  const [one, two] = [await call(writeNonce('1'.repeat(16))), await call(writeNonce('2'.repeat(16)))]
  assert.notEqual(one, two)
  const recorded = await call('no nonce')
  assert.match(recorded, /^chatcmpl-authored-/)
  assert.deepEqual(
    mock.entries().map(({ answer: { body } }) => JSON.parse(body!).id),
    [one, two, recorded],
  )
})

test('two scripted answers have different ids, because agents merge answers with the same id', async (t) => {
  const mock = await mockFor(t)
  mock.answer([{ say: { text: 'One.' } }, { say: { text: 'Two.' } }])
  const ids: string[] = []
  for (let call = 0; call < 2; call++)
    ids.push(((await (await ask(mock, chatBody('gpt-5-mini', {}, 'Hello'))).json()) as { id: string }).id)
  assert.notEqual(ids[0], ids[1])
})
