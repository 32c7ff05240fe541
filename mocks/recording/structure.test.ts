import assert from 'node:assert/strict'
import test from 'node:test'
import { compareShapes, kindOf, shapeOf } from './structure.ts'

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

test('the structure of a body is the set of its paths and their types', () => {
  assert.deepEqual([...shapeOf(whole({ a: [{ b: 1 }, { b: null }], c: { d: 'x' } }))].sort(), [
    'body a array',
    'body a[].b null',
    'body a[].b number',
    'body c.d string',
    'status 200',
  ])
})

test('the structure of a stream consists of its event types, their order and the comments', () => {
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

test('different kinds of answers differ in structure', () => {
  assert.equal(kindOf(whole({}, 429)), 'error 429')
  assert.equal(kindOf(whole({ choices: [{ message: { tool_calls: [], reasoning: null } }] })), 'whole')
  assert.equal(kindOf(whole({ choices: [{ message: { tool_calls: [{ id: 'a' }] } }] })), 'whole + tools')
  assert.equal(kindOf(stream(': WAIT', delta({ reasoning_content: 'hm' }))), 'stream + reasoning')
})

test("different kinds of answers also differ in structure in dialects other than OpenAI's chat", () => {
  const kinds = {
    'whole + tools': [
      { content: [{ type: 'tool_use', name: 'a', input: { thought: 1 } }] },
      { output: [{ type: 'function_call', arguments: '{}' }] },
      { candidates: [{ content: { parts: [{ functionCall: { name: 'a' } }] } }] },
    ],
    'whole + reasoning': [
      { content: [{ type: 'thinking', thinking: 'hm' }] },
      { output: [{ type: 'reasoning', summary: [] }] },
      { candidates: [{ content: { parts: [{ text: 'hm', thought: true }] } }] },
    ],
    'whole + picture': [{ data: [{ b64_json: 'AA' }] }],
    'whole + more pages': [{ models: [], nextPageToken: 'next' }],
  }
  for (const [kind, bodies] of Object.entries(kinds))
    for (const body of bodies) assert.equal(kindOf(whole(body)), kind, JSON.stringify(body))
})

test('an event of another dialect is named after its content', () => {
  const kinds = (...events: object[]) =>
    [...shapeOf(stream(...events))].filter((fact) => fact.includes(', then '))
  assert.deepEqual(
    kinds(
      { type: 'content_block_start', content_block: { type: 'text' } },
      { type: 'content_block_delta', delta: { type: 'text_delta' } },
      { type: 'response.output_item.added', item: { type: 'message' } },
      { type: 'ping' },
    ),
    [
      'start, then content_block_start text',
      'content_block_start text, then content_block_delta text_delta',
      'content_block_delta text_delta, then response.output_item.added message',
      'response.output_item.added message, then ping',
      'ping, then end',
    ],
  )
  const candidate = (part: object, finishReason?: string) => ({
    candidates: [{ content: { parts: [part] }, finishReason }],
  })
  assert.deepEqual(
    kinds(
      candidate({ text: 'hm', thought: true }),
      candidate({ text: 'a' }),
      candidate({ functionCall: { name: 'a' } }, 'STOP'),
    ),
    ['start, then thought', 'thought, then text', 'text, then call + finish', 'call + finish, then end'],
  )
})

test('tool-call arguments are not part of the structure', () => {
  const facts = shapeOf(whole({ content: [{ type: 'tool_use', input: { city: 'Oslo', days: 3 } }] }))
  assert.ok(facts.has('body content[].input object'))
  assert.ok(![...facts].some((fact) => fact.includes('city')))
})

test('an answer has drifted if it has a part that no capture has, or lacks a part that all captures have', () => {
  const captures = [new Set(['a', 'b', 'c']), new Set(['a', 'b', 'd'])]
  assert.deepEqual(compareShapes(new Set(['a', 'x']), captures), {
    unknown: ['x'],
    missing: ['b'],
    optional: ['c', 'd'],
  })
})
