import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crossedGateway, json } from '../dialects/test-crossed-gateway.ts'
import { processorMs } from '../test/test-processor-time.ts'
import { plainNames } from './plain-names.ts'

const MESSAGE = {
  ...{
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    stop_sequence: null,
  },
  content: [{ type: 'text', text: 'hi' }],
  usage: { input_tokens: 1, output_tokens: 1 },
}

test('escapes in names disappear, and escapes in values, order and white space stay', () => {
  const rows = [
    ['{"max_token\\u0073":1}', '{"max_tokens":1}'],
    ['{ "\\u540d\\u5b57" : {"a\\/b":"\\u0041"} }', '{ "名字" : {"a/b":"\\u0041"} }'],
    ['[{"x":["\\u0041",":"]},{"\\u0041" :1}]', '[{"x":["\\u0041",":"]},{"A" :1}]'],
    ['{"a\\"\\\\\\n\\u0001\\ud800":1}', '{"a\\"\\\\\\n\\u0001\\ud800":1}'],
    ['{"say":"{\\"\\\\u0041\\": 1}","c":"\\\\"}', '{"say":"{\\"\\\\u0041\\": 1}","c":"\\\\"}'],
  ] as const
  for (const [text, plain] of rows) assert.equal(plainNames(text), plain)
})

test('any JSON whose every character is escaped gets its names back, at any depth', () => {
  const escapedUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const escaped = (text: string) => `"${text.split('').map(escapedUnit).join('')}"`
  const write = (value: unknown, name: (text: string) => string): string => {
    if (typeof value === 'string') return escaped(value)
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map((each) => write(each, name)).join(' , ')}]`
    return `{${Object.entries(value)
      .map(([key, each]) => `${name(key)} : ${write(each, name)}`)
      .join()}}`
  }
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      assert.equal(plainNames(write(value, escaped)), write(value, JSON.stringify))
    }),
  )
})

test('a megabyte of escapes is read in one pass', () => {
  const text = JSON.stringify({ a: '\n'.repeat(2 ** 18), b: '"\\'.repeat(2 ** 17), c: ' '.repeat(2 ** 18) })
  const start = processorMs()
  assert.equal(plainNames(text), text)
  assert.equal(plainNames(`[${text},{"\\u0061":1}]`), `[${text},{"a":1}]`)
  assert.ok(processorMs() - start < 1_000)
})

test('a client cannot make the gateway misread a name that another request escapes', async (t) => {
  const gateway = await crossedGateway(t, 'messages', json(MESSAGE))
  const messages = '"model":"auto","messages":[{"role":"user","content":"hi"}]'
  await gateway.chat(`{"metadata":{},"max_token\\\\":1,${messages}}`)
  const { status } = await gateway.chat(`{"metadata":{},"max_token\\u0073":7,${messages}}`)
  assert.equal(status, 200)
  assert.equal(gateway.sent().max_tokens, 7)
})
