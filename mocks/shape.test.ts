import assert from 'node:assert/strict'
import test from 'node:test'
import { compareShapes, kindOf, shapeOf } from './shape.ts'

const whole = (body: unknown, status = 200) => ({ status, headers: {}, body: JSON.stringify(body) })
const stream = (...parts: (object | string)[]) => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body:
    parts.map((part) => (typeof part === 'string' ? part : `data: ${JSON.stringify(part)}`)).join('\n\n') +
    '\n\n',
})
const delta = (fields: object, finish: string | null = null) => ({
  choices: [{ delta: fields, finish_reason: finish }],
})

test('a body is the set of its paths and their types', () => {
  assert.deepEqual([...shapeOf(whole({ a: [{ b: 1 }, { b: null }], c: { d: 'x' } }))].sort(), [
    'body a array',
    'body a[].b null',
    'body a[].b number',
    'body c.d string',
    'status 200',
  ])
})

test('a stream tells its kinds of events, their order and its comments', () => {
  const facts = shapeOf(
    stream(
      ': WAIT',
      delta({ role: 'assistant' }),
      delta({ content: 'a' }),
      delta({ content: 'b' }),
      delta({}, 'stop'),
      'data: [DONE]',
    ),
  )
  assert.deepEqual(
    [...facts].filter((fact) => /then|comment|\.content/.test(fact)),
    [
      'comment WAIT',
      'start, then role',
      'role, then content',
      'content choices[].delta.content string',
      'content, then finish',
      'finish, then [DONE]',
      '[DONE], then end',
    ],
  )
})

test('answers are told apart by kind', () => {
  assert.equal(kindOf(whole({}, 429)), 'error 429')
  assert.equal(kindOf(whole({ choices: [{ message: { tool_calls: [], reasoning: null } }] })), 'whole')
  assert.equal(kindOf(whole({ choices: [{ message: { tool_calls: [{ id: 'a' }] } }] })), 'whole + tools')
  assert.equal(kindOf(stream(': WAIT', delta({ reasoning_content: 'hm' }))), 'stream + reasoning')
})

test('drift is what no capture has, and what all of them have', () => {
  const captures = [new Set(['a', 'b', 'c']), new Set(['a', 'b', 'd'])]
  assert.deepEqual(compareShapes(new Set(['a', 'x']), captures), {
    unknown: ['x'],
    missing: ['b'],
    optional: ['c', 'd'],
  })
})
