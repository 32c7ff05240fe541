// Answers of providers whose bytes begin or end in an unusual way, over real sockets: the call keeps what was paid for,
// and an error keeps its status.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { manualClock } from '../shared/test-clock.ts'
import { ask, readBody, sharedGateways, TWO_TARGETS } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'

const gatewayOf = sharedGateways()
const NO_WAIT = 'resilience: { retries: 0, cooldown: 1ms }'
const JSON_TYPE = { 'content-type': 'application/json' }
const SSE = { 'content-type': 'text/event-stream' }
const error = JSON.stringify({ error: { message: 'slow down', type: 'x', code: 'too_many' } })
const post = (body: unknown): RequestInit => ({
  ...{ method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) },
})

const ANSWERS = {
  chat: {
    ...{ path: '/v1/chat/completions', request: ask('auto') },
    whole: {
      id: 'c',
      model: 'model-a',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    },
    events: [
      { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      '[DONE]',
    ],
  },
  messages: {
    ...{ path: '/v1/messages', request: { ...ask('auto'), max_tokens: 9 } },
    whole: {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'model-a', stop_reason: 'end_turn' },
      ...{ content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 3, output_tokens: 1 } },
    },
    events: [
      { type: 'message_start', message: { model: 'model-a', usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ],
  },
  responses: {
    ...{ path: '/v1/responses', request: { model: 'auto', input: 'hi' } },
    whole: {
      ...{ id: 'r', object: 'response', status: 'completed', model: 'model-a' },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
      usage: { input_tokens: 3, output_tokens: 1 },
    },
    events: [
      { type: 'response.created', response: { id: 'r', status: 'in_progress', model: 'model-a' } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi' },
      {
        type: 'response.completed',
        response: {
          id: 'r',
          status: 'completed',
          model: 'model-a',
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      },
    ],
  },
} as const

for (const [dialect, { path, request, whole, events }] of Object.entries(ANSWERS)) {
  const setup = { dialects: { alpha: [dialect] } }

  test(`a ${dialect} answer in JSON may begin with a byte order mark, and so may an error`, async (t) => {
    const gateway = await gatewayOf(t, setup)
    const text = JSON.stringify(whole)
    gateway.upstream.alpha!.script = (response) => response.writeHead(200, JSON_TYPE).end(`\ufeff${text}`)
    const got = await gateway.get(path, post(request))
    assert.deepEqual([got.status, got.text], [200, text])
    const { tokens, state } = await gateway.record(got.headers.get('x-gateway-request-id'))
    assert.deepEqual([tokens.input, state], [3, 'completed'])
    const refusal = dialect === 'messages' ? `{"type":"error",${error.slice(1)}` : error
    gateway.upstream.alpha!.script = (response) => response.writeHead(400, JSON_TYPE).end(`\ufeff${refusal}`)
    const refused = await gateway.get(path, post(request))
    assert.deepEqual([refused.status, refused.text], [400, refusal])
  })

  test(`the last line end of a ${dialect} stream arrives, even if its LF comes later`, async (t) => {
    const gateway = await gatewayOf(t, setup)
    const text = events
      .map((each) =>
        typeof each === 'string'
          ? `data: ${each}\r\n\r\n`
          : `${'type' in each ? `event: ${each.type}\r\n` : ''}data: ${JSON.stringify(each)}\r\n\r\n`,
      )
      .join('')
    const arrived = Promise.withResolvers<void>()
    gateway.upstream.alpha!.script = async (response) => {
      response.writeHead(200, SSE).write(text.slice(0, -1))
      await arrived.promise
      response.end('\n')
    }
    const response = await fetch(gateway.url + path, post({ ...request, stream: true }))
    let got = ''
    for await (const part of response.body!) {
      got += Buffer.from(part).toString()
      if (got.length >= text.length - 1) arrived.resolve()
    }
    assert.equal(got, text)
  })
}

const streamed = post({ ...ANSWERS.responses.request, stream: true })

test('a complete Responses stream that its provider leaves open ends after a second, and is complete (RSP-03)', async (t) => {
  const clock = manualClock()
  const gateway = await gatewayOf(t, { dialects: { alpha: ['responses'] }, clock })
  const text = ANSWERS.responses.events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
  const left = Promise.withResolvers<void>()
  gateway.upstream.alpha!.script = (response) => {
    response.writeHead(200, SSE).write(text)
    response.on('close', left.resolve)
  }
  const response = await fetch(gateway.url + ANSWERS.responses.path, streamed)
  let got = ''
  for await (const part of response.body!) {
    got += Buffer.from(part).toString()
    if (got.length === text.length) await clock.advance(1_000)
  }
  assert.equal(got, text)
  const { state, tokens } = await gateway.record(response.headers.get('x-gateway-request-id'))
  assert.deepEqual([state, tokens.output], ['completed', 1])
  await left.promise
})

test('a client that reads slowly gets the end mark of a complete Responses stream (FLOW-07)', async (t) => {
  const clock = manualClock()
  const gateway = await gatewayOf(t, { dialects: { alpha: ['responses'] }, clock })
  const [begin, , end] = ANSWERS.responses.events
  const long = { ...end, response: { ...end.response, instructions: 'x'.repeat(20 * 2 ** 20) } }
  const texts = [begin, long].map((each) => `data: ${JSON.stringify(each)}\n\n`)
  const [completed, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  gateway.upstream.alpha!.script = async (response) => {
    response.writeHead(200, SSE)
    for (const each of texts) response.write(each)
    await completed.promise
    response.end('data: [DONE]\n\n')
    await clock.advance(5_000)
    waited.resolve()
  }
  const response = await fetch(gateway.url + ANSWERS.responses.path, streamed)
  let got = ''
  for await (const part of response.body!) {
    got += Buffer.from(part).toString()
    if (got.length <= texts[0]!.length) continue
    completed.resolve() // the gateway has read the last event, and waits for this client
    await waited.promise
  }
  assert.match(got.slice(-20), /\ndata: \[DONE\]\n\n$/)
})

/** Errors whose body does not arrive as it should. */
const BROKEN: [what: string, status: number, send: (response: ServerResponse) => void][] = [
  [
    'is cut off',
    429,
    (response) => {
      response.writeHead(429, { ...JSON_TYPE, 'retry-after': '9', 'content-length': 5_000 }).write(error)
      setImmediate(() => response.destroy())
    },
  ],
  [
    'is wrongly said to be compressed',
    429,
    (response) =>
      response.writeHead(429, { ...JSON_TYPE, 'retry-after': '9', 'content-encoding': 'gzip' }).end(error),
  ],
]

for (const [what, status, send] of BROKEN)
  for (const stream of [false, true])
    test(`a ${status}${stream ? ' to a streamed call' : ''} whose body ${what} keeps its status (FAIL-04)`, async (t) => {
      const gateway = await gatewayOf(t, {
        config: `${NO_WAIT}\nroutes: { auto: { targets: [ { model: alpha/m } ] } }`,
      })
      gateway.upstream.alpha!.script = send
      const response = await fetch(`${gateway.url}/v1/chat/completions`, post(ask('auto', { stream })))
      await readBody(response)
      assert.equal(response.status, status)
      assert.equal(response.headers.get('retry-after'), status === 429 ? '9' : null)
      const { attempt_log } = await gateway.record(response.headers.get('x-gateway-request-id'))
      assert.deepEqual(
        attempt_log.map((each: { status: number; outcome: string }) => [each.status, each.outcome]),
        [[status, 'failed']],
      )
    })

const NO_WHOLE_BODY: [what: string, status: number, send: (response: ServerResponse) => void][] = [
  ['a 503 whose body never ends', 503, (response) => response.writeHead(503, JSON_TYPE).write('{')],
  [
    'a 400 whose body is cut off',
    400,
    (response) => {
      response.writeHead(400, JSON_TYPE).write(error.slice(0, 20))
      setImmediate(() => response.destroy())
    },
  ],
]

for (const [what, status, send] of NO_WHOLE_BODY)
  test(`the next target is asked after ${what}`, async (t) => {
    const clock = manualClock()
    const providers = { alpha: send, beta: answer() }
    const gateway = await gatewayOf(t, { providers, config: `${NO_WAIT}\n${TWO_TARGETS}`, clock })
    let isDone = false
    const asked = gateway.chat(ask('auto')).finally(() => {
      isDone = true
    })
    // The time of an answer, ten minutes, would not pass meanwhile.
    await until('it is answered', async () => {
      await clock.advance(100)
      return isDone
    })
    const got = await asked
    assert.deepEqual([got.status, got.headers.get('x-gateway-provider')], [200, 'beta'])
    const { attempt_log } = await gateway.record(got.headers.get('x-gateway-request-id'))
    assert.deepEqual([attempt_log[0].status, attempt_log[0].outcome], [status, 'failed'])
  })

test('an error in another form in a 200 keeps its reason for clients of Messages', async (t) => {
  const gateway = await gatewayOf(t, { dialects: { alpha: ['messages'] } })
  gateway.upstream.alpha!.script = (response) => response.writeHead(200, JSON_TYPE).end(error)
  const got = await gateway.get(ANSWERS.messages.path, post(ANSWERS.messages.request))
  assert.equal(got.status, 502)
  assert.match(got.json.error.message, /slow down/)
})
