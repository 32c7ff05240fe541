// Tests allowed and forbidden variations of translated answers against the checks that compare them, on
// handwritten evidence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradictions } from '../checks/agreement.ts'
import { askedFor } from '../checks/dial/asked.ts'
import { checks } from '../checks/registry.ts'
import { entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { targetSchema } from '../target/schema.ts'
import type { DialectName } from './dialect.ts'

type Json = Record<string, unknown>
const sse = (...events: readonly Json[]): string =>
  events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('')

const target = targetSchema.parse({
  name: 'made',
  start: { url: 'http://127.0.0.1:1' },
  providers: { openai: {} },
  models: { direct: [{ id: 'm', provider: 'openai', model: 'm' }] },
})

const CALL = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look' }
const TOLD = '{"at": "1.0"}'
/** Streamed response that calls a tool. */
const calling = (done: string, last: Json = {}, response: Json = {}): string =>
  sse(
    { type: 'response.created', response: { id: 'resp_1', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '' } },
    ...['{"at": ', '"1.0"}'].map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...{ output_index: 0, item_id: 'fc_1', delta },
    })),
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: TOLD },
    { type: 'response.output_item.done', output_index: 0, item: { ...CALL, arguments: done } },
    {
      type: 'response.completed',
      response: { id: 'resp_1', output: [{ ...CALL, arguments: done, ...last }], ...response },
    },
  )

const found = (dialect: DialectName, body: string): string[] =>
  Object.entries(contradictions(dialect, body)).flatMap(([question, all]) =>
    all.length > 0 ? [question] : [],
  )

test('parts that repeat in an answer may be written differently but must have the same meaning (DIAL-12)', () => {
  assert.deepEqual(found('responses', calling(TOLD)), [])
  assert.deepEqual(found('responses', calling('{"at":"1.0"}')), [], 'arguments are JSON')
  assert.deepEqual(found('responses', calling('{"at":1}')), ['texts'])
  assert.deepEqual(found('responses', calling('')), ['texts'])
  assert.deepEqual(found('responses', calling(TOLD, { call_id: 'call_2' })), ['ids'])
  assert.deepEqual(found('responses', calling(TOLD, {}, { id: 'resp_2' })), ['ids'])
  assert.deepEqual(found('responses', calling(TOLD).replaceAll(/^event: .*\n/gm, '')), [])
  const keepalive = sse({ type: 'keepalive', sequence_number: 3 })
  assert.deepEqual(found('responses', keepalive + calling(TOLD)), [])
})

test('an event without item_id belongs to the item at its place, and what is missing is named (DIAL-12)', () => {
  const { texts, ids } = contradictions('responses', calling(TOLD).replaceAll('"item_id":"fc_1",', ''))
  assert.deepEqual(texts, [])
  assert.deepEqual(ids, [
    'response.function_call_arguments.delta of item 0 has no item_id',
    'response.function_call_arguments.done of item 0 has no item_id',
  ])
})

test('the reasoning in a response may arrive in one piece (DIAL-12)', () => {
  const item = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'so' }] }
  const body = sse(
    { type: 'response.output_item.added', output_index: 0, item: { ...item, summary: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item] } },
  )
  assert.deepEqual(found('responses', body), [])
})

test('events in Messages streams must have names, and unknown events may have any content (DIAL-12)', () => {
  const body = sse(
    { type: 'message_start', message: { id: 'msg_1', content: [] } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'mystery', id: 'a' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'mystery_delta' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_stop' },
  )
  assert.deepEqual(found('messages', body), [])
  assert.deepEqual(found('messages', body.replaceAll(/^event: .*\n/gm, '')), ['names'])
  assert.deepEqual(found('messages', body.replace('"index":0,"delta"', '"index":2,"delta"')), ['places'])
})

test('a later delta of a tool call may repeat the call’s id and name, but must not change them (DIAL-12)', () => {
  const part = (call: Json) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`
  const first = part({ index: 0, id: 'call_1', function: { name: 'look', arguments: '{' } })
  assert.deepEqual(found('chat', first + part({ index: 0, function: { arguments: '}' } })), [])
  assert.deepEqual(found('chat', first + part({ index: 0, id: 'call_1', function: { arguments: '}' } })), [])
  assert.deepEqual(found('chat', first + part({ index: 0, id: 'call_2', function: { arguments: '}' } })), [
    'ids',
  ])
  assert.deepEqual(found('chat', first + part({ function: { arguments: '}' } })), ['places'])
})

test('a translated answer may leave out only the reasoning, which every dialect treats as optional (DIAL-11)', () => {
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
  const said = { content: 'plain', reasoning: 'hm' }
  const chat = JSON.stringify({ choices: [{ index: 0, message: said, finish_reason: 'stop' }], usage })
  const answer = (content: readonly Json[], more: Json = {}) =>
    JSON.stringify({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: 'end_turn' },
      ...{ usage: { input_tokens: 5, output_tokens: 2 }, ...more },
    })
  const holds = (body: string, waybill = false) => {
    const asked = { method: 'POST', path: '/v1/messages', headers: {}, body: '{}' }
    const made = evidence(
      [
        exchange({
          step: 'answer',
          details: { model: 'm', scenario: 'plain', stream: false },
          request: asked,
          body,
        }),
      ],
      [entry({}, { body: chat })],
    )
    const check = checks.get('DIAL-11')!
    return check.judge({ evidence: made, all: new Map(), target, waybill }).every(({ ok }) => ok)
  }
  const text = { type: 'text', text: 'plain' }
  assert.ok(holds(answer([text])))
  assert.ok(!holds(answer([text]), true), 'Waybill shows it')
  assert.ok(holds(answer([{ type: 'thinking', thinking: 'hm', signature: '' }, text]), true))
  assert.ok(!holds(answer([{ type: 'thinking', thinking: 'hmm', signature: '' }, text])))
  assert.ok(!holds(answer([text, text])))
  assert.ok(!holds(answer([text], { usage: { input_tokens: 5, output_tokens: 3 } })))
  assert.ok(!holds(answer([text], { stop_reason: 'max_tokens' })))
})

const JUDGE = checks.get('DIAL-13')!
/** Returns true if this request to a chat provider contains everything from a Messages client's request. */
const isMet = (what: string, body: Json, over: Json = {}, waybill = false): boolean => {
  const asked = { method: 'POST', path: '/v1/messages', headers: {}, body: '{}' }
  const details = { model: 'm', what, stream: false }
  const made = evidence(
    [exchange({ step: 'call', details, request: asked, ...over })],
    over.status === 400 ? [] : [entry({ body, model: String(body.model ?? 'm') })],
  )
  return JUDGE.judge({ evidence: made, all: new Map(), target, waybill }).every(({ ok }) => ok)
}

test('a request option may be forwarded in any valid form, but must reach the provider (DIAL-13)', () => {
  const [first, second] = ['You know the roads, and answer in one sentence.', 'Name no tolls.']
  const both = `${first}\n${second}`
  assert.ok(isMet('instructions', { messages: [{ role: 'system', content: both }] }))
  const parts = [first, second].map((text) => ({ type: 'text', text }))
  assert.ok(isMet('instructions', { messages: [{ role: 'developer', content: parts }] }))
  const apart = [first, second].map((content) => ({ role: 'system', content }))
  assert.ok(isMet('instructions', { messages: apart }))
  assert.ok(isMet('instructions', { messages: [{ role: 'user', content: `${both}\n\nWhere?` }] }))
  assert.ok(!isMet('instructions', { messages: [{ role: 'system', content: first }] }), 'one of two parts')
  assert.ok(!isMet('instructions', { messages: [{ role: 'user', content: 'Where?' }] }))
  assert.ok(isMet('limit', { max_tokens: 1_234 }))
  assert.ok(isMet('limit', { max_completion_tokens: 1_234 }))
  assert.ok(!isMet('limit', { max_tokens: 4_096 }))
  assert.ok(isMet('temperature', { temperature: 0.3 }))
  assert.ok(isMet('temperature', { model: 'gpt-5-mini' }), 'reasoning models take none')
  assert.ok(!isMet('temperature', { model: 'gpt-5-mini', temperature: 1 }))
  assert.ok(!isMet('temperature', {}))
  assert.ok(isMet('no tool', {}), 'no tools are as good as none to be called')
  assert.ok(!isMet('one tool must be called', { tool_choice: 'required' }))
  const forced = { type: 'function', function: { name: 'find_inn' } }
  assert.ok(isMet('one tool must be called', { tool_choice: forced }))
})

test('a gateway that cannot forward an option may report this before or with its answer (DIAL-13)', () => {
  assert.ok(isMet('limit', {}, { status: 400 }))
  assert.ok(!isMet('limit', {}, { status: 400 }, true), 'Waybill carries it')
  assert.ok(isMet('limit', {}, { headers: { 'x-gateway-lossy': 'max_tokens' } }))
  assert.ok(!isMet('limit', {}, { headers: {} }))
})

test('in each dialect, tool results are matched to their calls by id (DIAL-13)', () => {
  const bodies = {
    chat: {
      messages: [
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'seen' }] },
      ],
    },
    messages: {
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] },
      ],
    },
    responses: {
      input: [
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'seen' }] },
      ],
    },
  } as const
  for (const [dialect, body] of Object.entries(bodies)) {
    const { calls, results } = askedFor(dialect as DialectName, body)!
    assert.deepEqual([calls[0]!.name, results.get(calls[0]!.id)], ['look', 'seen'], dialect)
  }
  assert.equal(askedFor('embeddings', {}), null)
})
