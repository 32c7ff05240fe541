// Items that a request only names, as OpenAI's clients and the AI SDK do. The gateway answers for the ids that it
// gave out: the provider gets the item, or the item is a named loss.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { answer, type Script } from '../../../mocks/test-upstream.ts'
import { type Setup, sharedGateways, type TestGateway, temporaryDirectory } from '../../test/test-gateway.ts'
import { message, response, streamOf } from './test-samples.ts'

const sharedGateway = sharedGateways()

const JSON_TYPE = { 'content-type': 'application/json' }
const json = (body: object): Script => {
  return (res) => void res.writeHead(200, JSON_TYPE).end(JSON.stringify(body))
}

const tool = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }

const chat: Script = (res, { json: asked }) => {
  const said = {
    role: 'assistant',
    content: 'Let me see.',
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
    ],
  }
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
  if (!asked.stream)
    return json({ choices: [{ index: 0, message: said, finish_reason: 'tool_calls' }], model: 'm', usage })(
      res,
      {} as never,
    )
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const { tool_calls: calls, ...text } = said
  res
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(
      `${chunk(text)}${chunk({ tool_calls: [{ index: 0, ...calls[0] }] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`,
    )
}
const messages = json({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use' },
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'c2VhbGVk' },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } },
  ],
  usage: { input_tokens: 5, output_tokens: 5 },
})
const gemini = json({
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          { text: 'Let me see.' },
          { functionCall: { name: 'weather', args: { city: 'Oslo' } }, thoughtSignature: 'c2VhbGVk' },
        ],
      },
      finishReason: 'STOP',
    },
  ],
  modelVersion: 'm',
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5 },
})
const native: Script = (res, { json: asked }) => {
  const whole = response('m', 'completed', {
    id: 'resp_n',
    store: true,
    output: [{ ...message('Well.'), id: 'msg_n' }],
  })
  if (!asked.stream) return json(whole)(res, {} as never)
  const item = { ...message('Well.'), id: 'msg_n' }
  res
    .writeHead(200, { 'content-type': 'text/event-stream' })
    .end(
      streamOf(
        { type: 'response.created', response: response('m', 'in_progress', { id: 'resp_n' }) },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: whole },
      ),
    )
}

const STORE = 'responses: { store: { enabled: true } }'
const start = (t: TestContext, config = '', more: Setup = {}) =>
  sharedGateway(t, {
    dialects: { chat: ['chat'], messages: ['messages'], gemini: ['gemini'], native: ['responses'] },
    providers: { chat, messages, gemini, native },
    config: `resilience: { cooldown: 0s, retries: 0 }\n${config}`,
    env: { WAYBILL_RESPONSES_KEY: 'k'.repeat(44) },
    ...more,
  })

const post = (
  { get }: TestGateway,
  body: object,
  headers: Record<string, string> = {},
  path = '/v1/responses',
) => get(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

const user = { role: 'user', content: [{ type: 'input_text', text: 'Where to?' }] }
const ref = (id: string) => ({ type: 'item_reference', id })

/** Asks with a tool, and returns the answer's items. */
async function first(gateway: TestGateway, model: string, more: object = {}, headers = {}): Promise<any[]> {
  const said = await post(gateway, { model, input: [user], tools: [tool], ...more }, headers)
  assert.equal(said.status, 200, said.text)
  if (!said.headers.get('content-type')!.startsWith('text/event-stream')) return said.json.output
  const last = said.text
    .split('\n')
    .findLast((line) => line.includes('"response.completed"') && line.startsWith('data'))
  return JSON.parse(last!.slice(6)).response.output
}

/** Sends the second turn, in which every item of the first answer is only named. */
function second(gateway: TestGateway, model: string, items: any[], more: object = {}, headers = {}) {
  const results = items.flatMap(({ type, call_id }) =>
    type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'rain' }] : [],
  )
  const input = [user, ...items.map(({ id }) => ref(id)), ...results]
  return post(gateway, { model, input, tools: [tool], ...more }, headers)
}

const sentTo = (gateway: TestGateway, provider: string) => gateway.upstream[provider]!.ledger.at(-1)!
const lossOf = ({ headers }: { headers: Headers }) => headers.get('x-gateway-lossy') ?? ''

for (const [kind, config] of [
  ['without a store', ''],
  ['with its own store', STORE],
] as const)
  for (const provider of ['chat', 'messages', 'gemini'])
    test(`${kind}, ${provider} gets the items that the next turn only names (RSP-22)`, async (t) => {
      const gateway = await start(t, config)
      for (const stream of provider === 'chat' ? [false, true] : [false]) {
        const items = await first(gateway, `${provider}/m`, { stream })
        const said = await second(gateway, `${provider}/m`, items)
        assert.equal(said.status, 200, said.text)
        assert.doesNotMatch(lossOf(said), /\bstore\b/)
        const { text } = sentTo(gateway, provider)
        assert.match(text, /Let me see\..*Oslo.*rain/)
        if (provider !== 'chat') assert.match(text, /c2VhbGVk/, 'the signature returns, too')
        assert.doesNotMatch(text, /_wb_/)
      }
    })

test('a conversation that named items of the gateway goes on at a provider of responses, which gets the items without their ids', async (t) => {
  const gateway = await start(t)
  const items = await first(gateway, 'chat/m')
  const said = await second(gateway, 'native/m', items)
  assert.equal(said.status, 200, said.text)
  const { input } = sentTo(gateway, 'native').json as any
  assert.deepEqual(
    input.map(({ type, role, id }: any) => [type ?? role, id]),
    [
      ['user', undefined],
      ['message', undefined],
      ['function_call', undefined],
      ['function_call_output', undefined],
    ],
  )
})

test('an id that the gateway gave out, but whose item it no longer has, is a named loss at every target, with the results of its calls', async (t) => {
  const data = temporaryDirectory(t)
  const before = await start(t, '', { data })
  const items = await first(before, 'chat/m')
  await before.gateway.close(100)
  const gateway = await start(
    t,
    'routes: { strict: { on_loss: refuse, targets: [ { model: native/m }, { model: chat/m } ] }, cached: { cache: true, targets: [ { model: chat/m } ] } }',
    { data },
  )
  for (const provider of ['chat', 'messages', 'gemini', 'native']) {
    const said = await second(gateway, `${provider}/m`, items)
    assert.equal(said.status, 200, said.text)
    assert.match(lossOf(said), /\bstore\b/)
    const { text } = sentTo(gateway, provider)
    assert.doesNotMatch(text, /_wb_|rain/)
    assert.match(text, /Where to\?/)
    const { attempt_log: log } = await gateway.record(said.headers.get('x-gateway-request-id'))
    assert.ok(log[0].losses.includes('store'))
  }
  const strict = await second(gateway, 'strict', items)
  assert.deepEqual([strict.status, strict.json.error.code], [400, 'translation_lossy'])
  for (let n = 0; n < 2; n++)
    assert.equal((await second(gateway, 'cached', items)).headers.get('x-gateway-cache'), 'BYPASS')
})

test('with its own store, the gateway has its items after a restart, and other providers’ items until then', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await start(t, STORE, { data })
  const [ours, theirs] = [await first(gateway, 'chat/m'), await first(gateway, 'native/m', { stream: true })]
  const at = await second(gateway, 'native/m', theirs)
  assert.equal(at.status, 200)
  assert.deepEqual((sentTo(gateway, 'native').json as any).input[1], ref('msg_n'), 'its keeper gets the id')
  const elsewhere = await second(gateway, 'messages/m', theirs)
  assert.equal(elsewhere.status, 200, elsewhere.text)
  assert.match(sentTo(gateway, 'messages').text, /Well\./)
  const mixed = await second(gateway, 'native/m', [...ours, ...theirs])
  assert.equal(mixed.status, 200, mixed.text)
  const { input } = sentTo(gateway, 'native').json as any
  assert.deepEqual([input[1].content[0].text, input[3]], ['Let me see.', ref('msg_n')])
  // The stored answer of a request with names can be continued anywhere.
  const on = await post(gateway, { model: 'gemini/m', input: 'On', previous_response_id: mixed.json.id })
  assert.equal(on.status, 200, on.text)
  assert.match(sentTo(gateway, 'gemini').text, /Let me see\..*Oslo.*Well\..*rain/)
  await gateway.gateway.close(100)

  const again = await start(t, STORE, { data })
  const said = await second(again, 'gemini/m', ours)
  assert.equal(said.status, 200, said.text)
  assert.doesNotMatch(lossOf(said), /\bstore\b/)
  assert.match(sentTo(again, 'gemini').text, /Let me see\..*Oslo.*rain/)
})

test('only the key that got an item may name it, and an item with `store: false` is not remembered', async (t) => {
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  const keys = `keys: [ { name: one, role: admin, digest: "${digest('k1')}" }, { name: two, digest: "${digest('k2')}" } ]`
  const [one, two] = ['k1', 'k2'].map((key) => ({ authorization: `Bearer ${key}` }))
  for (const config of [keys, `${STORE}\n${keys}`]) {
    const gateway = await start(t, config)
    const items = await first(gateway, 'chat/m', {}, one)
    const stolen = await second(gateway, 'chat/m', items, {}, two)
    assert.match(lossOf(stolen), /\bstore\b/)
    assert.doesNotMatch(sentTo(gateway, 'chat').text, /Let me see/)
    const unstored = await first(gateway, 'chat/m', { store: false }, one)
    assert.match(lossOf(await second(gateway, 'chat/m', unstored, {}, one)), /\bstore\b/)
    assert.doesNotMatch(sentTo(gateway, 'chat').text, /Let me see/)
  }
})

test('ids of strangers are refused or relayed as before', async (t) => {
  const gateway = await start(t)
  for (const id of ['msg_of_a_stranger', `msg_${'a'.repeat(48)}`, `msg_${'a'.repeat(32)}`, 'msg_wb_x_0']) {
    const said = await post(gateway, { model: 'chat/m', input: [ref(id), user] })
    assert.deepEqual([said.status, said.json.error.code], [400, 'dialect_not_spoken'], id)
    const input = [user, { id }]
    assert.equal((await post(gateway, { model: 'native/m', input })).status, 200)
    assert.deepEqual((sentTo(gateway, 'native').json as any).input, input)
  }
})

test('tokens of a request with names are counted with the items, and an id cannot be repeated without limit', async (t) => {
  const gateway = await start(t, '', {
    server: 'body_limit: 200KiB,',
    providers: { chat: answer('word '.repeat(4_000)), native },
    dialects: { chat: ['chat'], native: ['responses'] },
  })
  const [item] = await first(gateway, 'chat/m')
  const counted = await post(
    gateway,
    { model: 'chat/m', input: [ref(item.id)] },
    {},
    '/v1/responses/input_tokens',
  )
  assert.ok(counted.json.input_tokens > 3_000, counted.text)
  const many = await post(gateway, { model: 'chat/m', input: Array(500).fill(ref(item.id)) })
  assert.deepEqual([many.status, many.json.error.code], [413, 'body_too_large'])
  assert.equal(gateway.received(), 1)
})

test('items of a deleted answer are lost (RSP-20)', async (t) => {
  for (const config of ['', STORE]) {
    const gateway = await start(t, config)
    const said = await post(gateway, { model: 'chat/m', input: [user], tools: [tool] })
    await gateway.get(`/v1/responses/${said.json.id}`, { method: 'DELETE' })
    const on = await second(gateway, 'chat/m', said.json.output)
    assert.match(lossOf(on), /\bstore\b/)
    assert.doesNotMatch(sentTo(gateway, 'chat').text, /Let me see/)
  }
})
