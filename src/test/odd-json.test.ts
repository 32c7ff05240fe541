// Valid JSON that no client or provider usually writes: repeated members of other types, members in another order,
// deep lists. Each was once searched as if it had the usual form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Script } from '../../mocks/test-upstream.ts'
import { crossedGateway, json, sse } from '../dialects/test-crossed-gateway.ts'
import { AUTO, testGateway } from './test-gateway.ts'
import { processorMs } from './test-processor-time.ts'
import { openSocket } from './test-socket.ts'

const post = (body: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  body,
})
const STORE = {
  config: 'responses: { store: { enabled: true } }',
  env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
}
const MESSAGES = '"messages":[{"role":"user","content":"hi"}]'
const CHAT_ANSWER = json({
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
})
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'x' }] },
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
}
const RESPONSE = json({ id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [] })
const DONE = {
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
}

test('a chat stream with stream_options twice is answered, whatever the first ones are', async (t) => {
  const { chat, sent } = await crossedGateway(t, 'chat', sse(DONE, 'data: [DONE]\n\n'))
  for (const value of ['"x"', '[]', '5', '"{"']) {
    const { status } = await chat(
      `{"stream_options":${value},"stream_options":null,"model":"auto","stream":true,${MESSAGES}}`,
    )
    assert.equal(status, 200)
    assert.deepEqual(sent().stream_options, { include_usage: true })
  }
})

test('a messages request with thinking that is no object is sent to a target with an output limit', async (t) => {
  const { get, upstream } = await testGateway(t, {
    providers: { alpha: json(MESSAGE) },
    dialects: { alpha: ['messages'] },
    config: 'routes: { auto: { targets: [ { model: alpha/m, request: { max_output: 9 } } ] } }',
  })
  for (const value of ['"adaptive"', '["x"]', '"{"']) {
    const { status } = await get('/v1/messages', post(`{"model":"auto",${MESSAGES},"thinking":${value}}`))
    const { thinking, max_tokens } = upstream.alpha!.ledger.at(-1)!.json as any
    assert.deepEqual([status, thinking, max_tokens], [200, JSON.parse(value), 9])
  }
})

test('a responses request with input twice is sent again without reasoning that the provider refuses', async (t) => {
  let asked = 0
  const script: Script = (res, received) =>
    (++asked === 1 ? json({ error: { message: 'no', code: 'invalid_encrypted_content' } }, 400) : RESPONSE)(
      res,
      received,
    )
  const { get, sent } = await crossedGateway(t, 'responses', script, { options: {} })
  const input = '[{"type":"reasoning","summary":[],"encrypted_content":"x"},{"role":"user","content":"hi"}]'
  const { status } = await get('/v1/responses', post(`{"model":"auto","input":"x","input":${input}}`))
  assert.deepEqual([status, asked, sent().input], [200, 2, [{ role: 'user', content: 'hi' }]])
})

test('a Gemini counting request with generateContentRequest twice is counted', async (t) => {
  const { get, sent } = await crossedGateway(t, 'gemini', json({ totalTokens: 3 }))
  const inner = '{"model":"models/auto","contents":[{"parts":[{"text":"hi"}]}]}'
  const { status } = await get(
    '/v1beta/models/auto:countTokens',
    post(`{"generateContentRequest":5,"generateContentRequest":${inner}}`),
  )
  assert.deepEqual([status, sent().generateContentRequest.model], [200, 'models/m'])
})

test('the input items of a stored response are listed even if one is no object', async (t) => {
  const { get } = await crossedGateway(t, 'responses', RESPONSE, STORE)
  const made = await get(
    '/v1/responses',
    post('{"model":"auto","input":["hi",7,{"role":"user","content":"x"}]}'),
  )
  assert.equal(made.status, 200)
  const { status, json: listed } = await get('/v1/responses/resp_1/input_items?order=asc')
  assert.deepEqual([status, listed.data], [200, ['hi', 7, { role: 'user', content: 'x', id: 'item_2' }]])
})

test('a WebSocket message whose last members belong to the socket is sent without them', async (t) => {
  const { url, sent } = await crossedGateway(t, 'responses', RESPONSE)
  const socket = await openSocket(t, url)
  const messages = await socket.response(
    '{"model":"auto","input":"hi","stream":false,"stream_id":"a","type":"response.create"}',
  )
  const { type, response } = messages.at(-1)!
  assert.deepEqual([type, response.id], ['response.completed', 'resp_1'])
  assert.deepEqual(sent(), { model: 'm', input: 'hi', stream: true })
})

test('a background request that ends in `background` and `stream` is run by the gateway', async (t) => {
  const { get } = await crossedGateway(t, 'chat', CHAT_ANSWER, STORE)
  const { status, json: first } = await get(
    '/v1/responses',
    post('{"model":"auto","input":"hi","background":true,"stream":false}'),
  )
  assert.deepEqual([status, first.status], [200, 'queued'])
})

test('a provider may name its model twice or behind a byte order mark, and the requested name is told', async (t) => {
  const start = (message: string) => `event: message_start\ndata: {"type":"message_start",${message}}\n\n`
  const object = '"message":{"id":"m","type":"message","role":"assistant","model":"theirs","content":[]}'
  const end = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
  for (const first of [`"message":"x",${object}`, `"message":[],${object}`, object])
    for (const mark of ['', '\ufeff']) {
      const { get } = await crossedGateway(
        t,
        'messages',
        sse(`${mark}${start(first).replace('event: message_start\n', '')}`, end),
        {
          route: 'answer_model: requested,',
        },
      )
      const { status, text } = await get(
        '/v1/messages',
        post(`{"model":"auto","max_tokens":9,"stream":true,${MESSAGES}}`),
      )
      assert.equal(status, 200)
      assert.match(text, /"model":"auto"/)
      assert.match(text, /message_stop/)
    }
})

test('a request with a megabyte of text in 4,000 lists is looked up in the cache in less than a second', async (t) => {
  const { chat } = await crossedGateway(t, 'chat', CHAT_ANSWER, { config: 'cache: { enabled: true }' })
  const deep = `${'['.repeat(4_000)}"${'x'.repeat(2 ** 20)}"${',1]'.repeat(4_000)}`
  const start = processorMs()
  const { status } = await chat(`{"model":"auto",${MESSAGES},"temperature":0,"deep":${deep}}`)
  assert.equal(status, 200)
  assert.ok(processorMs() - start < 1_000)
})

/** An object that JavaScript cannot convert to a text or a number. */
const NO_TEXT = { toString: 1, valueOf: 1 }

/** Returns every copy of a value in which one value inside is replaced by `NO_TEXT`. */
function* withoutText(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inside] of Object.entries(value))
    for (const changed of [NO_TEXT, ...withoutText(inside)])
      yield Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed }
}

test('an object in place of any text is answered or refused, and is no fault of the gateway', async (t) => {
  const call = { call_id: 'c', name: 'f', arguments: '{}' }
  const request = {
    model: 'auto',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', ...call },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: 'x' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }],
    tool_choice: { type: 'function', name: 'f' },
    reasoning: { effort: 'low' },
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
  }
  const { url, get } = await testGateway(t, {
    providers: { alpha: json(MESSAGE) },
    dialects: { alpha: ['messages'] },
  })
  for (const changed of withoutText(request)) {
    const { status } = await get('/v1/responses', post(JSON.stringify(changed)))
    assert.ok(status === 200 || status === 400, `${status} for ${JSON.stringify(changed)}`)
  }
  const socket = await openSocket(t, url)
  for (const type of [NO_TEXT, null, 7, ['response.create']]) {
    const [event] = await socket.response({ type })
    assert.deepEqual([event.status, event.error.code], [400, 'invalid_request'])
  }
})

test('an object in place of any text of an answer or an event is no fault of the gateway', async (t) => {
  const item = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }
  const whole = { id: 'r', object: 'response', status: 'completed', model: 'm', output: [item], error: null }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'x' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...whole, usage } },
  ]
  const { get, upstream } = await testGateway(t, {
    dialects: { alpha: ['responses'] },
    config: `resilience: { cooldown: 1ms }\n${AUTO}`,
  })
  const ask = async (stream: boolean) => {
    const body = JSON.stringify({
      model: 'auto',
      max_tokens: 9,
      stream,
      messages: [{ role: 'user', content: 'x' }],
    })
    const { text } = await get('/v1/messages', post(body)).catch(() => ({ text: '' })) // a stream may be cut off
    assert.doesNotMatch(text, /"internal"|The gateway failed/)
  }
  for (const changed of withoutText({ ...whole, usage })) {
    upstream.alpha!.script = json(changed as object)
    await ask(false)
  }
  for (const changed of withoutText(events)) {
    upstream.alpha!.script = sse(...(changed as object[]))
    await ask(true)
  }
})
