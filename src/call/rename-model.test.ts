import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EMPTY_EVENT } from '../core/call.ts'
import { chat } from '../dialects/chat/chat.ts'
import { renameAnswer, renameEvent } from './answer.ts'

const reading = { ...EMPTY_EVENT, model: 'theirs' }

for (const [event, expected] of [
  ['data: {"model":"theirs","n":1.0}\n\n', 'data: {"model":"auto/ü","n":1.0}\n\n'],
  ['id: 7\r\ndata:{"a":[],"model": "theirs" }\r\n\r\n', 'id: 7\r\ndata:{"a":[],"model": "auto/ü" }\r\n\r\n'],
  [
    'data: {"model"\ndata: : "theirs",\n: between\ndata:"x":"Grüße 👋"}\n\n',
    'data: {"model"\ndata: : "auto/ü",\n: between\ndata:"x":"Grüße 👋"}\n\n',
  ],
  [
    'data: {"x":{"model":"inner"},"model":"theirs"}\n\n',
    'data: {"x":{"model":"inner"},"model":"auto/ü"}\n\n',
  ],
  ['\ufeffdata: {"model":"theirs"}\n\n', '\ufeffdata: {"model":"auto/ü"}\n\n'],
  [
    'event: a\n\ufeffdata: {"type":\ndata: {"model":"theirs"}\n\n',
    'event: a\n\ufeffdata: {"type":\ndata: {"model":"auto/ü"}\n\n',
  ],
  ['\ufeffdata: {\ndata: {"model":"theirs"}\n\n', '\ufeffdata: {\ndata: {"model":"theirs"}\n\n'],
] as const)
  test(`in ${JSON.stringify(event)}, the requested name replaces the model’s name, and nothing else changes`, () => {
    const renamed = renameEvent(chat.client, 'auto/ü')(Buffer.from(event), reading)
    assert.equal(renamed.toString(), expected)
  })

test('a body without a model stays unchanged, and renaming a model keeps even invalid UTF-8', () => {
  const done = Buffer.from('data: [DONE]\n\n')
  assert.equal(renameEvent(chat.client, 'auto')(done, EMPTY_EVENT), done)
  assert.equal(renameAnswer(chat.client, 'auto')(done, EMPTY_EVENT), done)
  const odd = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xc3]), Buffer.from('","model":"m"}')])
  const expected = Buffer.concat([
    Buffer.from('{"x":"'),
    Buffer.from([0xff, 0xc3]),
    Buffer.from('","model":"a\\"b"}'),
  ])
  assert.deepEqual(renameAnswer(chat.client, 'a"b')(odd, reading), expected)
})
