// Requests that name provider-stored state by its id. A route to one account forwards them unchanged. A route
// to several accounts refuses them before any provider request. A target of another dialect never receives
// them silently.
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { type MockServer, type Script, startMockServer } from '../../mocks/test-upstream.ts'
import {
  providerKey,
  type Setup,
  sharedGateways,
  type TestGateway,
  temporaryDirectory,
  testGateway,
} from '../test/test-gateway.ts'
import { samples as chat } from './chat/test-samples.ts'
import { samples as gemini } from './gemini/test-samples.ts'
import { referencesIn } from './kept.ts'
import { samples as messages } from './messages/test-samples.ts'
import { kept as responsesKept } from './responses/named-items.ts'
import { samples as responses } from './responses/test-samples.ts'

const sharedGateway = sharedGateways()

interface Case {
  readonly what: string
  readonly request: object
  readonly param: string
  /** Loss in a translation without the reference. Absent if the request is refused. */
  readonly loses?: string
}

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const text = { type: 'text', text: 'x' }
const said = { role: 'user', content: 'x' }
const input = (...items: object[]) => ({ input: items })
const asked = (...content: object[]) => input({ role: 'user', content })
const tool = (more: object) => ({ input: 'x', tools: [more] })
const parts = (...more: object[]) => ({ contents: [{ role: 'user', parts: [{ text: 'x' }, ...more] }] })
const file = { type: 'file', file_id: 'file_1' }
const GOOGLE_FILE = 'https://generativelanguage.googleapis.com/v1beta/files/abc'

const CASES: Readonly<Record<string, readonly Case[]>> = {
  messages: [
    {
      what: 'the file',
      request: user(text, { type: 'document', source: file }),
      param: 'messages[0].content[1].source.file_id',
      loses: 'file',
    },
    {
      what: 'the file',
      request: user({ type: 'container_upload', file_id: 'file_1' }),
      param: 'messages[0].content[0].file_id',
      loses: 'unknown.block',
    },
    {
      what: 'the file',
      request: user({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: file }] }),
      param: 'messages[0].content[0].content[0].source.file_id',
      loses: 'file',
    },
    {
      what: 'the container',
      request: { ...user(text), container: 'container_1' },
      param: 'container',
      loses: 'container',
    },
    {
      what: 'the container',
      request: { ...user(text), container: { id: 'container_1', skills: [] } },
      param: 'container.id',
      loses: 'container',
    },
    {
      what: 'the skill',
      request: {
        ...user(text),
        container: {
          skills: [
            { type: 'anthropic', skill_id: 'pptx' },
            { type: 'custom', skill_id: 'skill_1' },
          ],
        },
      },
      param: 'container.skills[1].skill_id',
      loses: 'container',
    },
  ],
  responses: [
    { what: 'the conversation', request: { input: 'x', conversation: 'conv_1' }, param: 'conversation' },
    {
      what: 'the conversation',
      request: { input: 'x', conversation: { id: 'conv_1' } },
      param: 'conversation.id',
    },
    { what: 'the prompt', request: { prompt: { id: 'pmpt_1' } }, param: 'prompt.id' },
    { what: 'the item', request: input(said, { type: 'item_reference', id: 'msg_1' }), param: 'input[1].id' },
    { what: 'the item', request: input({ id: 'msg_1' }, said), param: 'input[0].id' },
    {
      what: 'the file',
      request: asked({ type: 'input_file', file_id: 'file-1' }),
      param: 'input[0].content[0].file_id',
      loses: 'file',
    },
    {
      what: 'the file',
      request: asked({ type: 'input_image', file_id: 'file-1' }),
      param: 'input[0].content[0].file_id',
      loses: 'file',
    },
    {
      what: 'the file',
      request: tool({ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-1'] } }),
      param: 'tools[0].container.file_ids[0]',
      loses: 'tool.server',
    },
    {
      what: 'the vector store',
      request: tool({ type: 'file_search', vector_store_ids: ['vs_1'] }),
      param: 'tools[0].vector_store_ids[0]',
      loses: 'tool.server',
    },
    {
      what: 'the container',
      request: tool({ type: 'code_interpreter', container: 'cntr_1' }),
      param: 'tools[0].container',
      loses: 'tool.server',
    },
    {
      what: 'the container',
      request: tool({ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }),
      param: 'tools[0].environment.container_id',
      loses: 'tool.builtin',
    },
    {
      what: 'the skill',
      request: tool({
        type: 'shell',
        environment: { type: 'container_auto', skills: [{ type: 'skill_reference', skill_id: 'skill_1' }] },
      }),
      param: 'tools[0].environment.skills[0].skill_id',
      loses: 'tool.builtin',
    },
  ],
  chat: [
    {
      what: 'the file',
      request: user({ type: 'file', file: { file_id: 'file-1' } }),
      param: 'messages[0].content[0].file.file_id',
      loses: 'file',
    },
    {
      what: 'the file',
      request: user(text, { type: 'image_file', image_file: { file_id: 'file-1' } }),
      param: 'messages[0].content[1].image_file.file_id',
      loses: 'unknown.block',
    },
    {
      what: 'the file',
      request: user(text, { type: 'file', file_id: 'file-1' }),
      param: 'messages[0].content[1].file_id',
      loses: 'file',
    },
    {
      what: 'the audio',
      request: { messages: [said, { role: 'assistant', audio: { id: 'audio_1' } }, said] },
      param: 'messages[1].audio.id',
      loses: 'audio',
    },
  ],
  gemini: [
    {
      what: 'the cached content',
      request: { ...parts(), cachedContent: 'cachedContents/1' },
      param: 'cachedContent',
    },
    {
      what: 'the cached content',
      request: { ...parts(), cached_content: 'cachedContents/1' },
      param: 'cached_content',
    },
    {
      what: 'the file',
      request: parts({ fileData: { mimeType: 'application/pdf', fileUri: GOOGLE_FILE } }),
      param: 'contents[0].parts[1].fileData.fileUri',
      loses: 'file',
    },
    {
      what: 'the file',
      request: parts({ file_data: { mime_type: 'application/pdf', file_uri: GOOGLE_FILE } }),
      param: 'contents[0].parts[1].file_data.file_uri',
      loses: 'file',
    },
    {
      what: 'the file',
      request: parts({
        functionResponse: { name: 'f', response: {}, parts: [{ fileData: { file_uri: GOOGLE_FILE } }] },
      }),
      param: 'contents[0].parts[1].functionResponse.parts[0].fileData.file_uri',
      loses: 'tool_result.media',
    },
    {
      what: 'the file search store',
      request: { ...parts(), tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/1'] } }] },
      param: 'tools[0].fileSearch.fileSearchStoreNames[0]',
      loses: 'tool.server',
    },
  ],
}

/** Values that look like an id of stored state but are not, or that every account knows. */
const NONE: Readonly<Record<string, readonly object[]>> = {
  messages: [
    {
      messages: [
        said,
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'f', input: { file_id: 'x', container: 'y' } }],
        },
      ],
    },
    { ...user(text), container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] } },
    { ...user(text), container: null, diagnostics: { previous_message_id: 'msg_1' } },
    user({ type: 'image', source: { type: 'url', url: 'https://a.example/file_id' } }),
  ],
  responses: [
    { input: 'x', conversation: null, prompt: null, previous_response_id: null },
    input({
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'file-1' }] },
      ],
    }),
    input({ role: 'user', id: 'msg_1', content: 'x' }),
    input({
      type: 'code_interpreter_call',
      id: 'ci_1',
      container_id: 'cntr_1',
      code: '',
      outputs: [],
      status: 'completed',
    }),
    tool({ type: 'code_interpreter', container: { type: 'auto' } }),
    tool({ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail' }),
    {
      input: 'x',
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: { type: 'object', properties: { file_id: {}, vector_store_ids: {} } },
        },
      ],
    },
  ],
  chat: [
    user({ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'file_id' } }),
    { messages: [said], audio: { voice: 'alloy', format: 'wav' }, modalities: ['text', 'audio'] },
    { messages: [said, { role: 'assistant', content: 'x', audio: null }] },
  ],
  gemini: [
    parts({ fileData: { fileUri: 'https://www.youtube.com/watch?v=files' } }),
    parts({ fileData: { mimeType: 'image/png', fileUri: 'https://a.example/files/x.png' } }),
    parts({ functionCall: { name: 'f', args: { fileData: { fileUri: GOOGLE_FILE } } } }),
    { ...parts(), cachedContent: null },
  ],
}

const PATHS: Readonly<Record<string, string>> = {
  messages: '/v1/messages',
  responses: '/v1/responses',
  chat: '/v1/chat/completions',
}
const ANSWERS = { messages, responses, chat, gemini }
const JSON_TYPE = { 'content-type': 'application/json' }
const answers: Script = (res, { path }) => {
  const spoken = path.includes('generateContent')
    ? 'gemini'
    : path.includes('/messages')
      ? 'messages'
      : path.includes('/responses')
        ? 'responses'
        : 'chat'
  res.writeHead(200, JSON_TYPE).end(ANSWERS[spoken].answer('m', { prompt_tokens: 1 }))
}

/** The account of alpha and twin. */
let own: MockServer
before(async () => {
  own = await startMockServer(answers)
})
after(() => own.close())

/**
 * Starts a gateway. alpha, beta and twin speak the dialect, and alpha and twin share an account. far and
 * further speak another dialect.
 */
async function start(t: TestContext, dialect: string, more: Setup = {}): Promise<TestGateway> {
  const far = dialect === 'chat' ? 'messages' : 'chat'
  const target = (name: string) => `{ model: ${name}/m }`
  const routes = {
    two: ['alpha', 'beta'],
    one: ['alpha'],
    account: ['alpha', 'twin'],
    mixed: ['far', 'alpha', 'further'],
    other: ['far', 'further'],
  }
  const gateway = await sharedGateway(t, {
    providers: { beta: answers, far: answers, further: answers },
    dialects: { alpha: [dialect], twin: [dialect], beta: [dialect], far: [far], further: [far] },
    env: { OWN: providerKey('alpha') },
    config: `  alpha: { dialect: openai, base_url: "${own.baseUrl}", key: $OWN }
  twin: { dialect: openai, base_url: "${own.baseUrl}", key: $OWN }
routes:
${Object.entries(routes)
  .map(
    ([name, targets]) =>
      `  ${name}: { strategy: round-robin, targets: [ ${targets.map(target).join(', ')} ] }`,
  )
  .join('\n')}`,
    ...more,
  })
  return { ...gateway, received: () => gateway.received() + own.ledger.length }
}

async function ask({ get }: TestGateway, dialect: string, model: string, request: object) {
  const path =
    dialect === 'gemini' ? `/v1beta/models/${encodeURIComponent(model)}:generateContent` : PATHS[dialect]!
  const body = JSON.stringify(dialect === 'gemini' ? request : { model, ...request })
  const { status, json, headers } = await get(path, { method: 'POST', headers: JSON_TYPE, body })
  const told = (name: string) => headers.get(`x-gateway-${name}`)
  return { status, json, provider: told('provider'), lossy: told('lossy'), id: told('request-id') }
}

for (const [dialect, cases] of Object.entries(CASES)) {
  test(`${dialect}: a request that uses state stored at a provider is routed to that provider or refused (STATE-03)`, async (t) => {
    const gateway = await start(t, dialect)
    for (const { what, request, param, loses } of cases) {
      const said = `${what} at ${param}`
      const before = gateway.received()
      const { status, json } = await ask(gateway, dialect, 'two', request)
      assert.equal(status, 400, `${said}: ${JSON.stringify(json)}`)
      assert.match(
        json.error.message,
        new RegExp(`^${param.replace(/[[\].]/g, '\\$&')}: ${what} "[^"]+" .*alpha, beta.*provider/model`),
      )
      assert.equal(gateway.received(), before, said)

      for (const [model, providers] of [
        ['one', ['alpha', 'alpha']],
        ['account', ['alpha', 'twin']],
        ['beta/m', ['beta', 'beta']],
        ['mixed', ['alpha', 'alpha']],
      ] as const) {
        const made = [
          await ask(gateway, dialect, model, request),
          await ask(gateway, dialect, model, request),
        ]
        assert.deepEqual(
          made.map(({ status, provider }) => [status, provider]).sort(),
          providers.map((name) => [200, name]),
          `${said} on ${model}`,
        )
      }
      const sent = { ...gateway.upstream.beta!.ledger.at(-1)!.json, model: undefined }
      assert.deepEqual(sent, { ...request, model: undefined }, `${said} arrives`)

      const other = await ask(gateway, dialect, 'other', request)
      if (loses) assert.ok(other.lossy?.split(', ').includes(loses), `${said}: loses ${other.lossy}`)
      else assert.deepEqual([other.status, other.provider], [400, null], said)
    }
  })

  test(`${dialect}: a request that only seems to use stored state is routed as usual (STATE-03)`, async (t) => {
    const gateway = await start(t, dialect)
    for (const request of NONE[dialect]!) {
      const providers = new Set<unknown>()
      for (let n = 0; n < 2; n++) {
        const { status, json, provider } = await ask(gateway, dialect, 'two', request)
        assert.equal(status, 200, JSON.stringify([request, json]))
        providers.add(provider)
      }
      assert.equal(providers.size, 2, JSON.stringify(request))
    }
  })
}

test('the record says why targets without the stored state were skipped (STATE-03)', async (t) => {
  const gateway = await start(t, 'chat', { options: {} }) // whose turns begin with the first target
  const { id } = await ask(gateway, 'chat', 'mixed', CASES.chat![0]!.request)
  const { decision } = await gateway.record(id)
  const reason = 'only alpha can have the file'
  assert.deepEqual(decision.skipped, [
    { target: 'far/m', reason },
    { target: 'further/m', reason },
  ])
})

test('a recorded container is used only at its own target, even after a restart; an unrecorded container can be used at any target (STATE-03)', async (t) => {
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const message = (id: string) => ({ ...JSON.parse(messages.answer('m', {})), container: { id } })
  const response = (id: string) => {
    const answer = JSON.parse(responses.answer('m', {}))
    return { ...answer, output: [...answer.output, { type: 'code_interpreter_call', container_id: id }] }
  }
  const shell = (id: string) => {
    const answer = JSON.parse(responses.answer('m', {}))
    return { ...answer, output: [{ type: 'shell_call', environment: { container_id: id } }] }
  }
  const whole =
    (made: object): Script =>
    (res) =>
      res.writeHead(200, JSON_TYPE).end(JSON.stringify(made))
  const streamed =
    (...events: string[]): Script =>
    (res) =>
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
  const END = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } })
  const STOP = event('message_stop', {})
  const begins = (more: object) =>
    event('message_start', { message: { ...message(''), container: null, ...more } })

  const made: readonly [dialect: string, stream: boolean, (id: string) => Script, (id: string) => object][] =
    [
      ['messages', false, (id) => whole(message(id)), (container) => ({ ...user(text), container })],
      [
        'messages',
        true,
        (id) => streamed(begins({ container: { id } }), END, STOP),
        (id) => ({ ...user(text), container: { id } }),
      ],
      [
        'messages',
        true,
        (id) =>
          streamed(
            begins({}),
            event('message_delta', { delta: { stop_reason: 'end_turn', container: { id } } }),
            STOP,
          ),
        (container) => ({ ...user(text), container }),
      ],
      [
        'responses',
        false,
        (id) => whole(response(id)),
        (container) => tool({ type: 'code_interpreter', container }),
      ],
      [
        'responses',
        true,
        (id) =>
          streamed(
            event('response.created', { response: { status: 'in_progress' } }),
            event('response.completed', { response: response(id) }),
          ),
        (container) => tool({ type: 'code_interpreter', container }),
      ],
      [
        'responses',
        false,
        (id) => whole(shell(id)),
        (container_id) => tool({ type: 'shell', environment: { type: 'container_reference', container_id } }),
      ],
    ]
  const data = temporaryDirectory(t)
  const setup = {
    data,
    providers: { alpha: answers, beta: answers },
    dialects: { alpha: ['messages', 'responses'], beta: ['messages', 'responses'] },
    config: 'routes: { two: { strategy: round-robin, targets: [ { model: alpha/m }, { model: beta/m } ] } }',
  }
  const gateway = await testGateway(t, setup)
  for (const [n, [dialect, stream, script]] of made.entries())
    for (const provider of ['alpha', 'beta']) {
      gateway.upstream[provider]!.script = script(`made_${n}_${provider}`)
      const { status, id } = await ask(gateway, dialect, `${provider}/m`, {
        ...(dialect === 'messages' ? user(text) : { input: 'x' }),
        stream,
      })
      const record = await gateway.record(id)
      assert.deepEqual([status, record.container_id], [200, `made_${n}_${provider}`], `${dialect} ${stream}`)
      gateway.upstream[provider]!.script = answers
    }
  const goesOn = async (on: TestGateway) => {
    for (const [n, [dialect, , , request]] of made.entries())
      for (const provider of ['alpha', 'beta', 'alpha']) {
        const answer = await ask(on, dialect, 'two', request(`made_${n}_${provider}`))
        assert.deepEqual([answer.status, answer.provider], [200, provider], `${dialect} ${n}`)
      }
  }
  await goesOn(gateway)
  const both = { ...user(text, { type: 'container_upload', file_id: 'file_1' }), container: 'made_0_beta' }
  assert.equal(
    (await ask(gateway, 'messages', 'two', both)).provider,
    'beta',
    'the rest goes where the container is',
  )
  const tools = ['alpha', 'beta'].map((name) => ({ type: 'code_interpreter', container: `made_3_${name}` }))
  const parted = await ask(gateway, 'responses', 'two', { input: 'x', tools })
  assert.match(parted.json.error.message, /it came from beta, but the container from alpha/)
  const elsewhere = await ask(gateway, 'messages', 'alpha/m', { ...user(text), container: 'made_0_beta' })
  assert.match(elsewhere.json.error.message, /^container: the container "made_0_beta" .* it came from beta,/)
  await gateway.gateway.close()
  const again = await testGateway(t, setup)
  await goesOn(again)
})

test('two provider names for one account share stored state; two keys for one address do not share it (STATE-03)', async (t) => {
  let made = 0
  const server = await startMockServer((response) => {
    const answer = { ...JSON.parse(responses.answer('m', {})) }
    answer.output.push({ type: 'code_interpreter_call', container_id: `made_${made++}` })
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(answer))
  })
  t.after(() => server.close())
  const names = { alpha: '$OWN', twin: '$OWN', other: '$OTHER' }
  const gateway = await testGateway(t, {
    providers: {},
    dialects: Object.fromEntries(Object.keys(names).map((name) => [name, ['responses']])),
    env: { OWN: 'sk-own', OTHER: 'sk-other' },
    config: `${Object.entries(names)
      .map(([name, key]) => `  ${name}: { dialect: openai, base_url: "${server.baseUrl}", key: ${key} }`)
      .join('\n')}
routes: { all: { strategy: round-robin, targets: [ { model: alpha/m }, { model: twin/m }, { model: other/m } ] } }`,
  })
  for (const name of Object.keys(names)) {
    const { id } = await ask(gateway, 'responses', `${name}/m`, { input: 'x' })
    await gateway.record(id)
  }
  const [ofAlpha, ofTwin, ofOther] = [0, 1, 2].map((n) => ({
    type: 'code_interpreter',
    container: `made_${n}`,
  }))
  const providers = new Set<unknown>()
  for (let n = 0; n < 4; n++) {
    const { status, json, provider } = await ask(gateway, 'responses', 'all', {
      input: 'x',
      tools: [ofAlpha, ofTwin],
    })
    assert.equal(status, 200, JSON.stringify(json))
    providers.add(provider)
  }
  assert.deepEqual([...providers].sort(), ['alpha', 'twin'])
  const alone = await ask(gateway, 'responses', 'all', { input: 'x', tools: [ofOther] })
  assert.deepEqual([alone.status, alone.provider], [200, 'other'])
  const parted = await ask(gateway, 'responses', 'all', { input: 'x', tools: [ofTwin, ofOther] })
  assert.equal(parted.status, 400)
  assert.match(parted.json.error.message, /it came from other, but the container from twin/)
})

test('a request that names many items causes only a few look-ups, and one that names too many objects is refused (STATE-03)', () => {
  const found = (request: object) => referencesIn(responsesKept, request as Record<string, unknown>)
  const many = Array.from({ length: 10_000 }, (_, n) => ({ container: `container_${n}` }))
  assert.equal(found({ tools: many.slice(0, 1_000) }).length, 1_000)
  assert.throws(
    () => found({ tools: many }),
    /tools\[1000\]\.container: the request names more than 1000 objects/,
  )
  assert.equal(found({ tools: many.map(() => ({ container: 'container_1' })) }).length, 1)
  const items = many.map((_, n) => ({ type: 'item_reference', id: `item_${n}` }))
  assert.deepEqual(
    found({ previous_response_id: 'resp_1', input: items, tools: [many[0]!] }).map(({ param }) => param),
    ['previous_response_id', 'input[0].id', 'tools[0].container'],
  )
})
