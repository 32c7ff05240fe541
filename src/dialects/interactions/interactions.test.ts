// Google's official client calls Interactions at providers of every dialect, over real sockets: text, streams, tools,
// continuation, the gateway's own store, the background, and the objects of other keys.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { GoogleGenAI } from '@google/genai'
import type { Script } from '../../../mocks/test-upstream.ts'
import { sharedGateways } from '../../test/test-gateway.ts'
import { readStream } from '../test-crossing.ts'
import { ANSWERS, CALL, interaction, json, said, THOUGHT, USAGE } from './test-answers.ts'

const shared = sharedGateways()

type Sent = Record<string, any>

const event = (event_type: string, more: object) =>
  `event: ${event_type}\ndata: ${JSON.stringify({ ...more, event_type })}\n\n`
const sse =
  (...events: readonly string[]): Script =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
/** A stream as Google sends it: the signature of a thought is a delta, and the last event has no steps. */
const STREAM = sse(
  event('interaction.created', { interaction: { id: 'v1_s', model: 'gemini-x', status: 'in_progress' } }),
  event('interaction.status_update', { interaction_id: 'v1_s', status: 'in_progress' }),
  event('step.start', { index: 0, step: { type: 'thought' } }),
  event('step.delta', {
    index: 0,
    delta: { type: 'thought_summary', content: { type: 'text', text: 'hm' } },
  }),
  event('step.delta', { index: 0, delta: { type: 'thought_signature', signature: 'c2lnbmVk' } }),
  event('step.stop', { index: 0 }),
  event('step.start', { index: 1, step: { type: 'model_output' } }),
  event('step.delta', { index: 1, delta: { type: 'text', text: 'I ' } }),
  event('step.delta', { index: 1, delta: { type: 'text', text: 'look.' } }),
  event('step.stop', { index: 1 }),
  event('step.start', { index: 2, step: { ...CALL, arguments: {} } }),
  event('step.delta', { index: 2, delta: { type: 'arguments_delta', arguments: '{"place"' } }),
  event('step.delta', { index: 2, delta: { type: 'arguments_delta', arguments: ':"Ulm"}' } }),
  event('step.stop', { index: 2, step_usage: { total_output_tokens: 3 } }),
  event('interaction.completed', {
    interaction: { id: 'v1_s', model: 'gemini-x', status: 'requires_action', usage: USAGE },
  }),
  'event: done\ndata: [DONE]\n\n',
)

const STORE = 'responses: { store: { enabled: true } }'
const STORE_KEY = 'a'.repeat(64)
const TOOLS = [{ type: 'function' as const, name: 'weather', parameters: { type: 'object', properties: {} } }]

async function gatewayTo(t: TestContext, api: string, script: Script, more = '') {
  const gateway = await shared(t, {
    providers: { alpha: script },
    dialects: { alpha: [api] },
    config: `routes: { auto: { targets: [ { model: alpha/m } ] } }\nresilience: { cooldown: 0s }\n${more}`,
    ...(more === STORE && { env: { WAYBILL_RESPONSES_KEY: STORE_KEY } }),
  })
  const clientOf = (apiKey: string) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } } })
      .interactions
  return {
    ...gateway,
    clientOf,
    google: clientOf('none'),
    sent: () => gateway.upstream.alpha!.ledger.at(-1)!,
    newest: async (): Promise<Sent> => {
      const { json } = await gateway.get('/api/usage/request-logs?limit=1')
      return gateway.record(json.data[0].id)
    },
  }
}

for (const [api, answer] of Object.entries(ANSWERS))
  test(`Google’s client gets a text, and two turns with a tool, from a provider of ${api}`, async (t) => {
    const gateway = await gatewayTo(t, api, answer('There.'))
    const plain: Sent = await gateway.google.create({ model: 'auto', input: 'Where to?', store: false })
    assert.deepEqual([plain.status, plain.output_text], ['completed', 'There.'])
    const record = await gateway.newest()
    assert.deepEqual([record.tokens.input, record.tokens.output, record.state], [130, 30, 'completed'])
    gateway.upstream.alpha!.script = answer(null)
    const asked: Sent = await gateway.google.create({
      model: 'auto',
      input: 'Weather?',
      tools: TOOLS,
      store: false,
    })
    assert.equal(asked.status, 'requires_action')
    const [call] = asked.steps.filter(({ type }: Sent) => type === 'function_call')
    assert.deepEqual([call.name, call.arguments], ['weather', { place: 'Ulm' }])
    gateway.upstream.alpha!.script = answer('Rain.')
    const input = [
      { type: 'user_input' as const, content: [{ type: 'text' as const, text: 'Weather?' }] },
      ...asked.steps,
      { type: 'function_result' as const, call_id: call.id, name: 'weather', result: 'rain' },
    ]
    const last: Sent = await gateway.google.create({ model: 'auto', input, tools: TOOLS, store: false })
    assert.equal(last.output_text, 'Rain.')
    assert.match(gateway.sent().text, /rain/)
    assert.equal(gateway.received(), 3)
  })

test('a stream arrives byte for byte, and its record has Google’s counts', async (t) => {
  const gateway = await gatewayTo(t, 'interactions', STREAM)
  const stream = await gateway.google.create({ model: 'alpha/gemini-x', input: 'Where to?', stream: true })
  const types: string[] = []
  for await (const each of stream as AsyncIterable<Sent>) types.push(each.event_type)
  assert.equal(types.at(-1), 'interaction.completed')
  const { tokens, response_id, response_model } = await gateway.newest()
  assert.deepEqual(
    [tokens.input, tokens.cached_input, tokens.output, tokens.reasoning, response_id, response_model],
    [130, 100, 30, 5, 'v1_s', 'gemini-x'],
  )
  assert.deepEqual(gateway.sent().json, { model: 'gemini-x', input: 'Where to?', stream: true })
})

test('a stream of Google reaches clients of other dialects, and one of theirs reaches Google’s client', async (t) => {
  const gateway = await gatewayTo(t, 'interactions', STREAM)
  const post = (path: string, body: object) =>
    gateway.get(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { text } = await post('/v1/chat/completions', {
    ...{ model: 'auto', stream: true, messages: [{ role: 'user', content: 'Where to?' }] },
  })
  assert.match(
    text,
    /"content":"I "[\s\S]*"content":"look\."[\s\S]*"name":"weather"[\s\S]*"finish_reason":"tool_calls"/,
  )
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const crossed = await gatewayTo(
    t,
    'chat',
    sse(
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Over ' }),
      chunk({ content: 'there.' }),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ),
  )
  const stream = await crossed.google.create({ model: 'auto', input: 'Where to?', stream: true })
  const events: Sent[] = []
  for await (const each of stream as AsyncIterable<Sent>) events.push(each)
  const deltas = events.flatMap(({ delta }) => (delta ? [delta] : []))
  assert.deepEqual(
    deltas.filter(({ type }) => type === 'text').map(({ text }) => text),
    ['Over ', 'there.'],
  )
  assert.equal(deltas.find(({ type }) => type === 'thought_summary').content.text, 'hm')
  assert.equal(events.at(-1)!.interaction.status, 'completed')
})

test('a continuation goes to the provider that has the interaction, and to no other key', async (t) => {
  const digest = (key: string) => createHash('sha256').update(key).digest('hex')
  const gateway = await gatewayTo(
    t,
    'interactions',
    json(interaction('v1_first', [THOUGHT, said('One.')])),
    `keys: [ { name: ann, digest: "sha256:${digest('key-of-ann')}" }, { name: bob, digest: "sha256:${digest('key-of-bob')}" } ]`,
  )
  const [ann, bob] = [gateway.clientOf('key-of-ann'), gateway.clientOf('key-of-bob')]
  const first = await ann.create({ model: 'auto', input: 'First.' })
  const next = { model: 'auto', input: 'Second.', previous_interaction_id: first.id }
  gateway.upstream.alpha!.script = json(interaction('v1_second', [said('Two.')]))
  const second: Sent = await ann.create(next)
  assert.equal(second.output_text, 'Two.')
  assert.equal(gateway.sent().json.previous_interaction_id, 'v1_first')
  const before = gateway.received()
  await assert.rejects(bob.create(next), /404 previous_interaction_id/)
  await assert.rejects(bob.get(first.id), /Interaction with id .* not found/)
  await assert.rejects(bob.delete(first.id), /not found/)
  assert.equal(gateway.received(), before)
  gateway.upstream.alpha!.script = json(interaction('v1_first', [said('One.')]))
  assert.equal((await ann.get(first.id)).id, 'v1_first')
  assert.equal(gateway.sent().path, '/v1/interactions/v1_first?stream=false')
  gateway.upstream.alpha!.script = json({})
  await ann.delete(first.id)
  assert.deepEqual([gateway.sent().method, gateway.sent().path], ['DELETE', '/v1/interactions/v1_first'])
})

test('the gateway keeps interactions for a provider that keeps none, and writes continuations out', async (t) => {
  const gateway = await gatewayTo(t, 'chat', ANSWERS.chat!('One.'), STORE)
  const first: Sent = await gateway.google.create({ model: 'auto', input: 'First.' })
  gateway.upstream.alpha!.script = ANSWERS.chat!('Two.')
  const second: Sent = await gateway.google.create({
    ...{ model: 'auto', input: 'Second.', previous_interaction_id: first.id },
  })
  assert.equal(second.output_text, 'Two.')
  assert.deepEqual(
    (gateway.sent().json.messages as Sent[]).map(({ role, content }) => [role, content]),
    [
      ['user', 'First.'],
      ['assistant', 'One.'],
      ['user', 'Second.'],
    ],
  )
  const kept: Sent = await gateway.google.get(second.id, { include_input: true })
  assert.deepEqual([kept.output_text, kept.input.length], ['Two.', 1])
  await gateway.google.delete(first.id)
  await assert.rejects(gateway.google.get(first.id), /not found/)
  assert.equal(gateway.received(), 2)
})

test('a background interaction is on record until its provider has ended it', async (t) => {
  const running = interaction('v1_bg', [], { status: 'in_progress', usage: undefined })
  const gateway = await gatewayTo(t, 'interactions', json(running))
  const begun: Sent = await gateway.google.create({ model: 'auto', input: 'Research.', background: true })
  assert.equal(begun.status, 'in_progress')
  const { json: listed } = await gateway.get('/api/usage/request-logs?limit=1')
  assert.deepEqual([listed.data[0].state, listed.data[0].tokens.output], ['routed', null])
  gateway.upstream.alpha!.script = json(interaction('v1_bg', [said('Done.')]))
  const ended: Sent = await gateway.google.get('v1_bg')
  assert.equal(ended.output_text, 'Done.')
  const record = await gateway.newest() // waits until it is closed
  assert.deepEqual([record.tokens.input, record.tokens.output], [130, 30])
})

test('a model is called in the dialect in which it is served, by clients of every dialect (FIT-05)', async (t) => {
  const gateway = await shared(t, {
    providers: {
      google: (response, received) => {
        const dialect = received.path.endsWith('interactions') ? 'interactions' : 'gemini'
        return ANSWERS[dialect]!('There.')(response, received)
      },
    },
    dialects: { google: ['gemini', 'interactions'] },
    config: 'models: { google/older: { accepts: { dialects: [gemini] } } }',
  })
  const text = 'Where to?'
  const messages = [{ role: 'user', content: text }]
  for (const [model, dialect] of [
    ['gemini-omni-1.1-flash', 'interactions'],
    ['gemini-omni-flash-preview', 'interactions'],
    ['older', 'gemini'],
    ['gemini-of-tomorrow', 'both'],
  ] as const)
    for (const [client, path, body] of [
      [
        'gemini',
        `/v1beta/models/google/${model}:generateContent`,
        {
          contents: [{ role: 'user', parts: [{ text }] }],
          tools: [{ functionDeclarations: [{ name: 'weather' }] }],
        },
      ],
      ['interactions', '/v1beta/interactions', { input: text }],
      ['chat', '/v1/chat/completions', { messages }],
      ['messages', '/v1/messages', { messages, max_tokens: 50 }],
      ['responses', '/v1/responses', { input: text }],
    ] as const) {
      const answer = await gateway.get(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(client === 'gemini' ? body : { model: `google/${model}`, ...body }),
      })
      const row = `${client} ${model}: ${answer.text}`
      assert.equal(answer.status, 200, row)
      assert.match(answer.text, /There\./, row)
      const { path: asked, json: sent }: Sent = gateway.upstream.google!.ledger.at(-1)!
      const own = client === 'interactions' ? 'interactions' : 'gemini'
      const wanted = dialect === 'both' ? own : dialect
      assert.match(asked, wanted === 'gemini' ? /:generateContent$/ : /\/interactions$/, row)
      if (wanted === 'interactions') assert.equal(sent.model, model, row)
      if (client === 'gemini' && wanted === 'interactions') assert.equal(sent.tools[0].name, 'weather', row)
    }
})

test('facts about Google’s models hold in interactions at a provider of any name (FIT-04)', async (t) => {
  const gateway = await shared(t, {
    providers: { google: ANSWERS.interactions!('There.') },
    dialects: { google: ['interactions'] },
    config: '',
  })
  const messages = [{ role: 'user', content: 'Where to?' }]
  await gateway.chat({ model: 'google/gemini-4-argon', messages, reasoning_effort: 'xhigh' })
  const { generation_config }: Sent = gateway.upstream.google!.ledger[0]!.json
  assert.equal(generation_config.thinking_level, 'high')
})

test('an agent is asked for by its name, and only at its own provider', async (t) => {
  const gateway = await gatewayTo(
    t,
    'interactions',
    json(interaction('v1_a', [said('Found.')], { model: undefined, agent: 'deep-research' })),
  )
  await gateway.google.create({ agent: 'alpha/deep-research', input: 'Research.' } as never)
  assert.deepEqual(gateway.sent().json, { agent: 'deep-research', input: 'Research.' })
  assert.equal((await gateway.newest()).response_model, 'deep-research')
  const chat = await gatewayTo(t, 'chat', ANSWERS.chat!('x'))
  await assert.rejects(chat.google.create({ agent: 'auto', input: 'Research.' } as never), /agent/)
  assert.equal(chat.received(), 0)
})

test('failures of an interaction are failures of the call', async (t) => {
  for (const [script, status] of [
    [json({ error: { code: 'invalid_request', message: 'no such member' } }, 400), 400],
    [
      json(interaction('v1_f', [], { status: 'failed', errors: [{ code: 'internal', message: 'broke' }] })),
      500,
    ],
  ] as const) {
    const gateway = await gatewayTo(t, 'interactions', script)
    await assert.rejects(gateway.google.create({ model: 'auto', input: 'x' }), (error: any) => {
      assert.equal(error.status ?? error.statusCode, status)
      return true
    })
    assert.equal((await gateway.newest()).state, 'failed')
  }
})

test('modalities, tools and unknown numbers of a usage are on record', async (t) => {
  const details = (text: number, audio: number) => [
    { modality: 'text', tokens: text },
    { modality: 'audio', tokens: audio },
  ]
  const counted = {
    ...USAGE,
    input_tokens_by_modality: details(100, 20),
    grounding_tool_count: [{ type: 'google_search', count: 2 }],
  }
  const gateway = await gatewayTo(
    t,
    'interactions',
    json(interaction('v1_u', [said('x')], { usage: counted })),
  )
  const usageOf = async (usage: object) => {
    gateway.upstream.alpha!.script = json(interaction('v1_u', [said('x')], { usage }))
    await gateway.google.create({ model: 'auto', input: 'x' })
    return (await gateway.newest()).usage
  }
  assert.deepEqual(await usageOf(counted), { input_audio: 20, tools: { google_search: 2 } })
  const { doubts, other } = await usageOf({ ...USAGE, total_dream_tokens: 7 })
  assert.deepEqual([doubts, other], [['unknown_usage'], { total_dream_tokens: 7 }])
  const unknown = { ...USAGE, output_tokens_by_modality: [{ modality: 'smell', tokens: 3 }] }
  assert.deepEqual((await usageOf(unknown)).doubts, ['unknown_usage'])
})

test('a stream is read although its indexes repeat, a start is missing, or an image stands between texts', () => {
  const delta = (index: number, value: object) => event('step.delta', { index, delta: value })
  const text = (index: number, words: string) => delta(index, { type: 'text', text: words })
  const start = (index: number, step: object) => event('step.start', { index, step })
  const stop = (index: number) => event('step.stop', { index })
  const end = event('interaction.completed', { interaction: { id: 'v1_d', model: 'm', status: 'completed' } })
  const output = { type: 'model_output' }
  const image = { type: 'image', data: 'QUJD', mime_type: 'image/png' }
  const blocksOf = (...events: string[]) =>
    readStream('interactions', Buffer.from([...events, end].join(''))).blocks.map(
      (each: Sent) => each.text ?? each.type,
    )
  assert.deepEqual(
    blocksOf(
      start(0, { type: 'thought' }),
      delta(0, { type: 'thought_summary', content: { type: 'text', text: 'hm' } }),
      stop(0),
      start(0, output),
      text(0, 'Over '),
      text(0, 'there.'),
      stop(0),
      start(0, output),
      text(0, 'Or here.'),
      stop(0),
    ),
    ['hm', 'Over there.', 'Or here.'],
  )
  assert.deepEqual(blocksOf(text(0, 'Over '), text(0, 'there.')), ['Over there.'])
  assert.deepEqual(blocksOf(start(0, output), text(0, 'a'), delta(0, image), text(0, 'b'), stop(0)), [
    'a',
    'image',
    'b',
  ])
})
