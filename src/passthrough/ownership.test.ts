// Whose object is it: every place in which a request can name a file, a container or another object at a provider, in
// every spelling, through gateways with several client keys, with one, and with none.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { samples as chat } from '../dialects/chat/test-samples.ts'
import { samples as gemini } from '../dialects/gemini/test-samples.ts'
import { samples as messages } from '../dialects/messages/test-samples.ts'
import { samples as responses } from '../dialects/responses/test-samples.ts'
import { onStray } from '../shared/boundary.ts'
import type { TestGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { gatewayTo, replyWith, startProvider, type TestProvider } from './test-provider.ts'

const KEYS = { alice: 'alice-key-0123456789', bob: 'bob-key-01234567890', root: 'root-key-0123456789' }
type Who = keyof typeof KEYS
const keysOf = (...names: Who[]) =>
  `keys:\n${names
    .map(
      (name) =>
        `  - { name: ${name}, role: ${name === 'root' ? 'admin' : 'client'}, digest: "sha256:${createHash('sha256').update(KEYS[name]).digest('hex')}" }`,
    )
    .join('\n')}`
const SEVERAL = `${keysOf('alice', 'bob', 'root')}\n`
const GROUPS = 'passthrough: [files, batches, audio, image-edits]\n'

/** Starts a provider of all dialects that numbers its files and containers. */
async function startKeeper(t: TestContext): Promise<TestProvider> {
  let made = 0
  return startProvider(t, (response, arrived) => {
    const { method, url, headers } = arrived
    const path = url.replace(/\?.*/, '')
    const reply = (body: unknown) => replyWith(body)(response, arrived)
    if (path.startsWith('/upload/')) return reply({ file: { name: `files/g${made++}` } })
    if (path === '/v1/files' && method === 'POST')
      return reply({ id: `${headers['anthropic-version'] ? 'file_' : 'file-'}n${made++}abcdef` })
    if (path === '/v1/files') return reply({ data: [{ id: NOBODYS.file }], has_more: false })
    if (path === '/v1/messages/batches') return reply({ id: `msgbatch_${made++}abcdef` })
    if (path === '/v1/batches') return reply({ id: `batch_${made++}abcdef` })
    if (/countTokens|count_tokens|input_tokens/.test(path))
      return reply({ totalTokens: 1, input_tokens: 1, object: 'response.input_tokens' })
    if (path.includes('generateContent')) return reply(gemini.answer('m', {}))
    if (path === '/v1/messages')
      return reply({
        ...JSON.parse(messages.answer('m', {})),
        container: { id: `container_${made++}abcdef` },
      })
    if (path === '/v1/responses') {
      const answer = JSON.parse(responses.answer('m', {}))
      const ran = { type: 'code_interpreter_call', container_id: `cntr_${made++}abcdef` }
      return reply({ ...answer, output: [...answer.output, ran] })
    }
    if (path === '/v1/chat/completions') return reply(chat.answer('m', {}))
    return reply({ deleted: true })
  })
}

interface Place {
  readonly gateway: TestGateway
  readonly provider: TestProvider
  as(who: Who | null, path: string, init?: RequestInit): ReturnType<TestGateway['get']>
}

async function start(t: TestContext, config: string, before?: Place): Promise<Place> {
  const provider = before?.provider ?? (await startKeeper(t))
  const { origin } = provider
  const gateway = await gatewayTo(
    t,
    {
      openai: { dialect: '[chat, responses]', origin: `${origin}/v1` },
      anthropic: { dialect: 'messages', origin },
      google: { dialect: 'gemini', origin },
    },
    GROUPS + config,
    before?.gateway.data,
  )
  return {
    ...{ gateway, provider },
    as: (who, path, init = {}) =>
      gateway.get(path, {
        ...init,
        headers: { ...(init.headers as object), ...(who && { authorization: `Bearer ${KEYS[who]}` }) },
      }),
  }
}

const ANTHROPIC = { 'anthropic-version': '2023-06-01' }
const JSON_TYPE = { 'content-type': 'application/json' }
const FORM = { 'content-type': 'multipart/form-data; boundary=b' }
const posted = (body: string | Uint8Array<ArrayBuffer>, headers: object = JSON_TYPE): RequestInit => ({
  method: 'POST',
  headers: headers as Record<string, string>,
  body,
})
const field = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const form = (content: string, purpose = 'batch') =>
  `${field('purpose', purpose)}--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${content}\r\n--b--\r\n`

/** Objects that a key has made, or that nobody has made. */
interface Objects {
  readonly file: string
  readonly message: string
  readonly google: string
  readonly container: string
  readonly sandbox: string
  readonly batch: string
}

async function make({ as }: Place, who: Who | null): Promise<Objects> {
  const id = async (path: string, body: string, headers: object = JSON_TYPE) =>
    (await as(who, path, posted(body, headers))).json.id as string
  const file = await id('/v1/files', form('{}'), FORM)
  const message = await id('/v1/files', form('{}'), { ...FORM, ...ANTHROPIC })
  const upload = await as(who, '/upload/v1beta/files', posted('bytes'))
  const ask = async (path: string, body: object) => {
    const { status, json, text } = await as(who, path, posted(JSON.stringify(body)))
    assert.equal(status, 200, text)
    return json
  }
  const said = [{ role: 'user', content: 'x' }]
  const answer = await ask('/v1/messages', { model: 'anthropic/m', max_tokens: 9, messages: said })
  const { output } = await ask('/v1/responses', { model: 'openai/m', input: 'x' })
  return {
    ...{ file, message, google: upload.json.file.name.slice('files/'.length) },
    ...{ container: answer.container.id, sandbox: output.at(-1).container_id },
    batch: await id('/v1/batches', JSON.stringify({ input_file_id: file })),
  }
}

const NOBODYS: Objects = {
  ...{ file: 'file-nobodys1', message: 'file_nobodys1', google: 'nobodys1' },
  ...{ container: 'container_nobodys1', sandbox: 'cntr_nobodys1', batch: 'batch_nobodys1' },
}

type Way = readonly [path: string, body: string | Uint8Array<ArrayBuffer> | null, headers?: object]

/** Every place and spelling. The body of `files` is a list of chat contents, and so on. */
function waysOf({ file, message, google, container, sandbox, batch }: Objects): Record<string, Way> {
  const chatOf = (content: string): Way => [
    '/v1/chat/completions',
    `{"model":"openai/m","messages":[{"role":"user","content":[${content}]}]}`,
  ]
  const crossed = (content: string): Way => [
    '/v1/chat/completions',
    `{"model":"google/m","messages":[{"role":"user","content":[${content}]}]}`,
  ]
  const crossedResponse = (content: string): Way => [
    '/v1/responses',
    `{"model":"google/m","input":[{"role":"user","content":[${content}]}]}`,
  ]
  const messageOf = (content: string, more = ''): Way => [
    '/v1/messages',
    `{"model":"anthropic/m","max_tokens":9,"messages":[{"role":"user","content":[${content}]}]${more}}`,
    { ...JSON_TYPE, ...ANTHROPIC },
  ]
  const responseOf = (members: string): Way => ['/v1/responses', `{"model":"openai/m",${members}}`]
  const geminiAt = (verb: string, members: string): Way => [
    `/v1beta/models/google%2Fm:${verb}`,
    `{${members}}`,
  ]
  const geminiOf = (members: string) => geminiAt('generateContent', members)
  const uriOf = (uri: string) =>
    geminiOf(`"contents":[{"parts":[{"fileData":{"fileUri":${JSON.stringify(uri)}}}]}]`)
  const address = 'https://generativelanguage.googleapis.com/v1beta/files/'
  const encoded = (text: string) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`
  const escaped = (text: string) =>
    [...text].map((each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('')
  const document = `{"type":"document","source":{"type":"file","file_id":"${message}"}}`
  const part = `{"fileData":{"fileUri":"${address}${google}"}}`
  const input = `"input":[{"role":"user","content":[{"type":"input_file","file_id":"${file}"}]}]`
  const line = (body: string) => `{"custom_id":"a","url":"/v1/responses","body":{${body}}}`
  const uploaded = (body: string): Way => ['/v1/files', form(line(body)), FORM]
  const utf16 = Buffer.from(line(`"file_id":"${file}"`), 'utf16le')
  const [begin, end] = form('|')
    .split('|')
    .map((each) => Buffer.from(each))
  return {
    'chat: a file': chatOf(`{"type":"file","file":{"file_id":"${file}"}}`),
    'chat: a picture': chatOf(`{"type":"image_file","image_file":{"file_id":"${file}"}}`),
    'chat: a bare id': chatOf(`{"type":"file","file_id":"${file}"}`),
    'chat: an address of a picture': chatOf(`{"type":"image_url","image_url":{"file_id":"${file}"}}`),
    'chat to Gemini: an address of a picture': crossed(
      `{"type":"image_url","image_url":{"url":"${address}${google}"}}`,
    ),
    'chat to Gemini: a short picture': crossed(`{"type":"image_url","image_url":"${address}${google}"}`),
    'chat to Gemini: the data of a file': crossed(
      `{"type":"file","file":{"file_data":"${address}${encoded(google)}"}}`,
    ),
    'messages to Gemini: an address': [
      '/v1/messages',
      `{"model":"google/m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"${address}${google}"}}]}]}`,
      { ...JSON_TYPE, ...ANTHROPIC },
    ],
    'responses to Gemini: an address of a picture': crossedResponse(
      `{"type":"input_image","image_url":"${address.toUpperCase().replace('V1BETA/FILES', 'v1beta/files')}${google}"}`,
    ),
    'responses to Gemini: an address of a file': crossedResponse(
      `{"type":"input_file","file_url":"${address.replace('.', '\\u002e')}${google}?alt=media"}`,
    ),
    'chat: an escaped id': chatOf(`{"type":"file","file":{"file_id":"${escaped(file)}"}}`),
    'chat: an escaped member': chatOf(`{"type":"file","file":{"file\\u005fid":"${file}"}}`),
    'messages: a document': messageOf(document),
    'messages: a file for the container': messageOf(`{"type":"container_upload","file_id":"${message}"}`),
    'messages: in a result': messageOf(`{"type":"tool_result","tool_use_id":"t","content":[${document}]}`),
    'messages: in a document in a result': messageOf(
      `{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"content","content":[${document}]}}]}`,
    ),
    'messages: in the system prompt': messageOf('{"type":"text","text":"x"}', `,"system":[${document}]`),
    'messages: a container': messageOf('{"type":"text","text":"x"}', `,"container":"${container}"`),
    'messages: the id of a container': messageOf(
      '{"type":"text","text":"x"}',
      `,"container":{"id":"${container}"}`,
    ),
    'messages: counting': ['/v1/messages/count_tokens', messageOf(document)[1], messageOf('')[2]!],
    'responses: a file': responseOf(input),
    'responses: a picture in a result': responseOf(
      `"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","file_id":"${file}"}]}]`,
    ),
    'responses: a screenshot': responseOf(
      `"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"${file}"}}]`,
    ),
    'responses: a variable of a prompt': responseOf(
      `"prompt":{"id":"pmpt_1","variables":{"doc":{"type":"input_file","file_id":"${file}"}}}`,
    ),
    'responses: files of a container': responseOf(
      `"input":"x","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file-x","${file}"]}}]`.replace(
        '"file-x",',
        '',
      ),
    ),
    'responses: a mask': responseOf(
      `"input":"x","tools":[{"type":"image_generation","input_image_mask":{"file_id":"${file}"}}]`,
    ),
    'responses: a container': responseOf(
      `"input":"x","tools":[{"type":"code_interpreter","container":"${sandbox}"}]`,
    ),
    'responses: a container of a shell': responseOf(
      `"input":"x","tools":[{"type":"shell","environment":{"type":"container_reference","container_id":"${sandbox}"}}]`,
    ),
    'responses: a container of an added tool': responseOf(
      `"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"code_interpreter","container":"${sandbox}"}]},{"role":"user","content":"x"}]`,
    ),
    'responses: counting': ['/v1/responses/input_tokens', `{"model":"openai/m",${input}}`],
    'gemini: an address': uriOf(address + google),
    'gemini: a name': uriOf(`files/${google}`),
    'gemini: a query': uriOf(`${address}${google}?alt=media`),
    'gemini: a slash': uriOf(`${address}${google}/`),
    'gemini: two slashes': uriOf(address.replace('files/', 'files//') + google),
    'gemini: a fragment': uriOf(`${address}${google}#x`),
    'gemini: an encoded slash': uriOf(`${address.slice(0, -1)}%2F${google}`),
    'gemini: an encoded letter': uriOf(address + encoded(google)),
    'gemini: encoded twice': uriOf(address + encoded(google).replace('%', '%25')),
    'gemini: an encoded folder': uriOf(`${address.replace('files', '%66iles')}${google}`),
    'gemini: without a scheme': uriOf(`//generativelanguage.googleapis.com/v1beta/files/${google}`),
    'gemini: in capitals': uriOf(`HTTPS://GENERATIVELANGUAGE.GOOGLEAPIS.COM/v1beta/files/${google}`),
    'gemini: with a port': uriOf(`https://generativelanguage.googleapis.com:443/v1beta/files/${google}`),
    'gemini: with a user': uriOf(`https://a@generativelanguage.googleapis.com/v1beta/files/${google}`),
    'gemini: spaces': uriOf(` ${address}${google} `),
    'gemini: a line end': uriOf(`${address.replace('files', 'fi\nles')}${google}`),
    'gemini: an escaped slash': geminiOf(
      `"contents":[{"parts":[{"fileData":{"fileUri":"files\\/${google}"}}]}]`,
    ),
    'gemini: snake case': geminiOf(`"contents":[{"parts":[{"file_data":{"file_uri":"files/${google}"}}]}]`),
    'gemini: one part without its list': geminiOf(`"contents":[{"parts":${part}}]`),
    'gemini: the system prompt': geminiOf(`"contents":[],"systemInstruction":{"parts":[${part}]}`),
    'gemini: one part of the system prompt': geminiOf(`"contents":[],"system_instruction":{"parts":${part}}`),
    'gemini: in a result': geminiOf(
      `"contents":[{"parts":[{"functionResponse":{"name":"f","response":{},"parts":[${part}]}}]}]`,
    ),
    'gemini: counting contents': geminiAt('countTokens', `"contents":[{"parts":[${part}]}]`),
    'gemini: counting a request': geminiAt(
      'countTokens',
      `"generateContentRequest":{"model":"models/m","contents":[{"parts":[${part}]}]}`,
    ),
    'gemini: counting a request in snake case': geminiAt(
      'countTokens',
      `"generate_content_request":{"contents":[{"parts":[${part}]}]},"contents":[]`,
    ),
    'files: its path': [`/v1/files/${file}`, null],
    'files: its content': [`/v1/files/${file}/content`, null],
    'files: of Google': [`/v1beta/files/${google}`, null],
    'batches: its path': [`/v1/batches/${batch}`, null],
    'batches: its input': ['/v1/batches', `{"input_file_id":"${file}"}`],
    'batches: a message': [
      '/v1/messages/batches',
      `{"requests":[{"params":${messageOf(document)[1]}}]}`,
      { ...JSON_TYPE, ...ANTHROPIC },
    ],
    'batches: a container of a message': [
      '/v1/messages/batches',
      `{"requests":[{"params":{"container":{"skills":[],"id":"${container}"}}}]}`,
      { ...JSON_TYPE, ...ANTHROPIC },
    ],
    'batches: a line': uploaded(input),
    'batches: an escaped line': uploaded(input.replace(file, escaped(file))),
    'batches: the files of a container in a line': uploaded(
      `"tools":[{"container":{"type":"auto","file_ids":["${file}"]}}]`,
    ),
    'batches: a line in UTF-16': ['/v1/files', Buffer.concat([begin!, utf16, end!]), FORM],
    'batches: a late line': ['/v1/files', form(`${'x'.repeat(400_000)}${line(`"file_id":"${file}"`)}`), FORM],
    'batches: a line before a hidden purpose': [
      '/v1/files',
      `${form(`${line(`"file_id":"${file}"`)}${'x'.repeat(70_000)}`, 'user_data').slice(0, -7)}${field('purpose', 'batch')}--b--\r\n`,
      FORM,
    ],
    'audio: a field of a form': [
      '/v1/audio/transcriptions',
      `${field('model', 'm')}${field('file_id', file)}--b--\r\n`,
      FORM,
    ],
    'pictures: a file to edit': ['/v1/images/edits', `{"model":"m","images":[{"file_id":"${file}"}]}`],
  }
}

const send = ({ as }: Place, who: Who | null, [path, body, headers]: Way) =>
  as(who, path, body === null ? {} : posted(body, headers))

/** Waits until the call is closed and its container is on record. */
const settled = async ({ as }: Place, who: Who | null, container: string) => {
  await until('the container is on record', async () => {
    const { json } = await as(who, '/api/usage/request-logs')
    return json.data.some((each: any) => each.container_id === container)
  })
}

test("with several client keys, a chat request cannot name Google's cached content, which is never on record", async (t) => {
  const { as, provider } = await start(t, SEVERAL)
  for (const name of ['cached_content', 'cachedContent']) {
    const cached = { extra_body: { google: { [name]: 'cachedContents/nobodys1' } } }
    const body = JSON.stringify({ model: 'openai/m', messages: [{ role: 'user', content: 'x' }], ...cached })
    assert.equal((await as('bob', '/v1/chat/completions', posted(body))).status, 404, name)
    assert.equal(provider.arrived.length, 0)
  }
})

test('a translation to Gemini writes no address without a scheme, because Google takes it for the name of a file', async (t) => {
  const { as, provider } = await start(t, SEVERAL)
  const picture = { type: 'image_url', image_url: { url: ' files/nobodys1' } }
  const body = { model: 'google/m', messages: [{ role: 'user', content: ['x', picture] }] }
  await as('bob', '/v1/chat/completions', posted(JSON.stringify(body)))
  assert.ok(provider.arrived.every((each) => !each.body.includes('nobodys1')))
})

test('a list in another form shows a client key nothing, and a nesting that cannot be written is an invalid answer', async (t) => {
  const nobodys = { id: NOBODYS.file, filename: 'secret' }
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const pages = [nobodys, { items: [nobodys] }, { data: { first: nobodys } }, { data: [], files: [nobodys] }]
  let page = ''
  const provider = await startProvider(t, (response, arrived) =>
    replyWith(arrived.method === 'POST' ? { id: 'file-own00001' } : page)(response, arrived),
  )
  const config = `${GROUPS}${SEVERAL}`
  const { get } = await gatewayTo(t, { openai: { dialect: 'chat', origin: provider.origin } }, config)
  const headers = { ...FORM, authorization: `Bearer ${KEYS.bob}` }
  assert.equal((await get('/v1/files', { method: 'POST', headers, body: form('{}') })).status, 200)
  page = `{"data":[{"id":"file-own00001","more":${deep}}]}`
  const { status, json } = await get('/v1/files', { headers })
  assert.deepEqual([status, json.error.code], [502, 'upstream_invalid'])
  for (const each of pages) {
    page = JSON.stringify(each)
    const { status, text } = await get('/v1/files', { headers })
    assert.equal(status, 200, page)
    assert.doesNotMatch(text, /nobodys|secret/)
  }
})

test("another key's object and an unknown object do not exist for a client key, in every place and spelling; the owner and an administrator reach it (PASS-03)", async (t) => {
  const place = await start(t, SEVERAL)
  const own = await make(place, 'alice')
  await settled(place, 'root', own.sandbox)
  const { arrived } = place.provider
  for (const [whose, objects] of [
    ["another key's", own],
    ['unknown', NOBODYS],
  ] as const)
    for (const [way, request] of Object.entries(waysOf(objects))) {
      const before = place.provider.arrived.length
      const { status, text } = await send(place, 'bob', request)
      assert.equal(status, 404, `${whose}, ${way}: ${text}`)
      assert.match(text, /No such object/, way)
      const reached = arrived.slice(before).map(({ method, url }) => `${method} ${url}`)
      assert.deepEqual(reached, [], `${whose}, ${way}`)
    }
  const allowed = (
    [
      ['alice', own],
      ['root', own],
      ['root', NOBODYS],
    ] as const
  ).flatMap(([who, objects]) =>
    Object.entries(waysOf(objects)).map(([way, request]) => ({ who, way, request })),
  )
  for (const { who, way, request } of sample(allowed, 3)) {
    const { status, text } = await send(place, who, request)
    assert.equal(status, 200, `${who}, ${way}: ${text}`)
  }
  assert.deepEqual((await place.as('bob', '/v1/files')).json.data, [])
})

test("a repeated member cannot hide another key's object from the gateway", async (t) => {
  const place = await start(t, SEVERAL)
  const { file } = await make(place, 'alice')
  const { file: bobs } = await make(place, 'bob')
  const content = (id: string) => `"content":[{"type":"file","file":{"file_id":"${id}"}}]`
  const ways = {
    'in one object': `"messages":[{"role":"user","content":[{"file":{"file_id":"${file}","file_id":"${bobs}"}}]}]`,
    'with an escaped name': `"messages":[{"role":"user","content":[{"file":{"file\\u005fid":"${file}","file_id":"${bobs}"}}]}]`,
    'around it': `"messages":[{"role":"user",${content(file)},${content(bobs)}}]`,
    'around all': `"messages":[{"role":"user",${content(file)}}],"messages":[{"role":"user","content":"x"}]`,
    'as null': `"messages":[{"role":"user","content":"x"}],"conversation":"conv_nobodys1","conversation":null`,
  }
  const before = place.provider.arrived.length
  for (const [way, members] of Object.entries(ways)) {
    const { status, json } = await send(place, 'bob', [
      '/v1/chat/completions',
      `{"model":"openai/m",${members}}`,
    ])
    assert.deepEqual([status, json.error.code], [400, 'invalid_request'], way)
  }
  const twice = `{"custom_id":"a","body":{"file_id":"${file}","file_id":"${bobs}"}}`
  assert.equal((await send(place, 'bob', ['/v1/files', form(twice), FORM])).status, 404)
  assert.equal(place.provider.arrived.length, before)
})

test('state that a provider made elsewhere is refused with several keys: conversations, cached contents, and answers in the lines of a batch', async (t) => {
  const place = await start(t, SEVERAL)
  const before = place.provider.arrived.length
  const ways: Record<string, Way> = {
    conversation: ['/v1/responses', '{"model":"openai/m","input":"x","conversation":"conv_nobodys1"}'],
    'conversation with id': [
      '/v1/responses',
      '{"model":"openai/m","input":"x","conversation":{"id":"conv_1"}}',
    ],
    'counted conversation': [
      '/v1/responses/input_tokens',
      '{"model":"openai/m","input":"x","conversation":{"id":"conv_1"}}',
    ],
    'cached content': [
      '/v1beta/models/google%2Fm:generateContent',
      '{"contents":[],"cachedContent":"cachedContents/1"}',
    ],
    'counted cached content': [
      '/v1beta/models/google%2Fm:countTokens',
      '{"generateContentRequest":{"contents":[],"cached_content":"cachedContents/1"}}',
    ],
    'answer in a line': ['/v1/files', form('{"body":{"previous_response_id":"resp_1"}}'), FORM],
    'conversation in a line': ['/v1/files', form('{"body":{"conversation":{"id":"conv_nobodys1"}}}'), FORM],
    'thread in a batch': [
      '/v1/messages/batches',
      '{"requests":[{"params":{"thread":{"type":"continue","previous_message_id":"msg_1"}}}]}',
      { ...JSON_TYPE, ...ANTHROPIC },
    ],
  }
  for (const [what, way] of Object.entries(ways)) {
    const { status, text } = await send(place, 'bob', way)
    assert.equal(status, 404, `${what}: ${text}`)
  }
  const many = Array.from({ length: 1_001 }, (_, n) => `{"type":"file","file_id":"file-${n}"}`)
  const tooMany = await send(place, 'root', [
    '/v1/chat/completions',
    `{"model":"openai/m","messages":[{"role":"user","content":[${many}]}]}`,
  ])
  assert.equal(tooMany.status, 400)
  assert.equal(place.provider.arrived.length, before)
})

test('a client key can name what an account shares, and write ids where they name nothing', async (t) => {
  const place = await start(t, SEVERAL)
  const ways: Record<string, Way> = {
    prompt: [
      '/v1/responses',
      '{"model":"openai/m","prompt":{"id":"pmpt_1","variables":{"a":"file-nobodys1"}}}',
    ],
    'vector store': [
      '/v1/responses',
      '{"model":"openai/m","input":"x","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}',
    ],
    'skill and connector': [
      '/v1/responses',
      '{"model":"openai/m","input":"x","tools":[{"type":"shell","environment":{"type":"container_auto","skills":[{"type":"skill_reference","skill_id":"skill_1"}]}},{"type":"mcp","server_label":"x","connector_id":"connector_gmail"}]}',
    ],
    'item and annotation': [
      '/v1/responses',
      '{"model":"openai/m","input":[{"type":"item_reference","id":"msg_1"},{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[{"type":"file_citation","file_id":"file-nobodys1"}]}]}]}',
    ],
    'skill of a message': [
      '/v1/messages',
      '{"model":"anthropic/m","max_tokens":9,"messages":[],"container":{"skills":[{"type":"custom","skill_id":"skill_1"}]}}',
    ],
    'input of a tool': [
      '/v1/messages',
      '{"model":"anthropic/m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"file_id":"file_nobodys1","container":"x"}}]}]}',
    ],
    'file search store': [
      '/v1beta/models/google%2Fm:generateContent',
      '{"contents":[],"tools":[{"fileSearch":{"fileSearchStoreNames":["fileSearchStores/1"]}}]}',
    ],
    'public address': [
      '/v1beta/models/google%2Fm:generateContent',
      '{"contents":[{"parts":[{"fileData":{"fileUri":"https://a.example/files/x"}}]}]}',
    ],
    text: [
      '/v1/chat/completions',
      '{"model":"openai/m","messages":[{"role":"user","content":"\\"file_id\\": \\"file-nobodys1\\" file-nobodys1"}]}',
    ],
    'uploaded notes': ['/v1/files', form('{"file_id":"file-nobodys1"}', 'user_data'), FORM],
    'other lines': ['/v1/files', form('{"file_id":7,"name":"file_reader","tools":["file_search"]}'), FORM],
  }
  for (const [what, way] of Object.entries(ways)) {
    const { status, text } = await send(place, 'bob', way)
    assert.equal(status, 200, `${what}: ${text}`)
  }
})

for (const [keys, who, config] of [
  ['no keys', null, ''],
  ['one client key', 'alice', `${keysOf('alice', 'root')}\n`],
  ['several keys and `unknown_objects: relay`', 'alice', `unknown_objects: relay\n${SEVERAL}`],
] as const)
  test(`a gateway with ${keys} relays unknown objects, and lists them`, async (t) => {
    const place = await start(t, config)
    for (const [way, request] of sample(Object.entries(waysOf(NOBODYS)), 3)) {
      const { status, text } = await send(place, who, request)
      assert.equal(status, 200, `${way}: ${text}`)
    }
    assert.deepEqual((await place.as(who, '/v1/files')).json.data, [{ id: NOBODYS.file }])
  })

test("with `unknown_objects: relay`, another key's objects still do not exist; with `refuse`, one key cannot reach unknown ones", async (t) => {
  const place = await start(t, `unknown_objects: relay\n${SEVERAL}`)
  const own = await make(place, 'alice')
  await settled(place, 'root', own.sandbox)
  const before = place.provider.arrived.length
  for (const [way, request] of Object.entries(waysOf(own)))
    assert.equal((await send(place, 'bob', request)).status, 404, way)
  assert.equal(place.provider.arrived.length, before)
  const strict = await start(t, `unknown_objects: refuse\n${keysOf('alice')}\n`)
  for (const [way, request] of Object.entries(waysOf(NOBODYS)))
    assert.equal((await send(strict, 'alice', request)).status, 404, way)
  assert.equal(strict.provider.arrived.length, 0)
})

test('the owner of an object stays on record when retention has deleted the call, until the object is deleted', async (t) => {
  const place = await start(t, `retention: { rows: 1 }\n${SEVERAL}`)
  const own = await make(place, 'alice')
  await until('the calls are deleted', async () => {
    const { json } = await place.as('root', '/api/usage/request-logs')
    return json.data.every(({ completed_at, objects, container_id }: any) =>
      completed_at === null ? true : (objects ?? container_id) === null,
    )
  })
  const before = place.provider.arrived.length
  const file: Way = [`/v1/files/${own.file}`, null]
  assert.equal((await send(place, 'bob', file)).status, 404)
  assert.equal((await send(place, 'bob', waysOf(own)['messages: a container']!)).status, 404)
  assert.equal(place.provider.arrived.length, before)
  await place.gateway.gateway.close()
  const again = await start(t, `unknown_objects: relay\n${SEVERAL}`, place)
  assert.equal((await send(again, 'bob', file)).status, 404, 'also after a restart')
  assert.equal((await send(again, 'alice', file)).status, 200)
  assert.equal((await send(again, 'alice', waysOf(own)['messages: a container']!)).status, 200)
  for (const path of [file[0], `/v1beta/files/${own.google}`])
    assert.equal((await again.as('alice', path, { method: 'DELETE' })).status, 200)
  await until('the owner is forgotten', async () => (await send(again, 'bob', file)).status === 200)
  await until(
    'the owner is forgotten',
    async () => (await send(again, 'bob', [`/v1beta/files/${own.google}`, null])).status === 200,
  )
})

test('a list that is not JSON is an error of the provider, not a fault of the gateway', async (t) => {
  const { origin } = await startProvider(t, (response) => response.end('{"a'))
  const openai = { openai: { dialect: 'chat', origin: `${origin}/v1` } }
  const gateway = await gatewayTo(t, openai, GROUPS + SEVERAL)
  const faults: unknown[] = []
  t.after(onStray((error) => faults.push(error)))
  const { status, json } = await gateway.get('/v1/files', {
    headers: { authorization: `Bearer ${KEYS.bob}` },
  })
  assert.deepEqual([status, json.error.code], [502, 'upstream_invalid'])
  assert.deepEqual(faults, [])
})
