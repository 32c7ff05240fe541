// Tests the mock's stored files and batches, and endpoints without a conversation: with the official clients,
// and with requests that the real providers refuse.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import type { MockProviders } from '../server/create.ts'
import { interceptProviders } from '../server/intercept.ts'
import { mockFor } from '../server/test-mock.ts'

const openaiAt = (mock: MockProviders) =>
  new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: mock.key('openai'), maxRetries: 0 })
const anthropicAt = (mock: MockProviders, apiKey = mock.key('anthropic')) =>
  new Anthropic({ baseURL: `${mock.url}/anthropic`, apiKey, maxRetries: 0 })

const line = (
  custom_id: string,
  body: object = { model: 'gpt-6-luna', messages: [{ role: 'user', content: 'hi' }] },
) => `${JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body })}\n`

const batchFile = (text: string) => toFile(Buffer.from(text), 'a.jsonl')

test("OpenAI's batch ends after two reads, with an answer and usage for each line", async (t) => {
  const client = openaiAt(await mockFor(t))
  const { id: input_file_id } = await client.files.create({
    file: await batchFile(line('a') + line('b') + line('wrong', { model: 'gpt-6-luna' })),
    purpose: 'batch',
  })
  const started = await client.batches.create({
    ...{ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' },
  })
  assert.equal(started.status, 'validating')
  assert.equal((await client.batches.retrieve(started.id)).status, 'in_progress')
  const ended = (await client.batches.retrieve(started.id)) as OpenAI.Batch & { usage: any }
  assert.deepEqual([ended.status, ended.request_counts], ['completed', { total: 3, completed: 2, failed: 1 }])
  const read = async (id: string) =>
    (await (await client.files.content(id)).text())
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each))
  const good = await read(ended.output_file_id!)
  assert.deepEqual(
    good.map(({ custom_id, response }) => [custom_id, response.status_code]),
    [
      ['a', 200],
      ['b', 200],
    ],
  )
  const one = good[0].response.body.usage
  assert.equal(ended.usage.input_tokens, 2 * one.prompt_tokens)
  assert.equal(ended.usage.output_tokens, 2 * one.completion_tokens)
  const [bad] = await read(ended.error_file_id!)
  assert.deepEqual([bad.custom_id, bad.response.status_code], ['wrong', 400])
  await assert.rejects(client.batches.cancel(started.id), /Cannot cancel/)
})

test("OpenAI's batch fails with the problems of each line in its file", async (t) => {
  const client = openaiAt(await mockFor(t))
  for (const [text, code] of [
    ['', 'empty_file'],
    ['{', 'invalid_json_line'],
    [line('a') + line('a'), 'duplicate_custom_id'],
    [line('a').replace('chat/completions', 'embeddings'), 'invalid_url'],
    [line('a').replace('custom_id', 'id'), 'missing_required_parameter'],
    [line('a').repeat(50_001), 'too_many_tasks'],
  ] as const) {
    const { id: input_file_id } = await client.files.create({ file: await batchFile(text), purpose: 'batch' })
    const { id } = await client.batches.create({
      ...{ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    })
    const { status, errors } = await client.batches.retrieve(id)
    assert.deepEqual([status, errors?.data?.[0]?.code], ['failed', code])
  }
})

test("OpenAI's file lists have pages, begin with the newest, and can be filtered by purpose", async (t) => {
  const client = openaiAt(await mockFor(t))
  const made: string[] = []
  for (const purpose of ['batch', 'user_data', 'batch'] as const)
    made.unshift((await client.files.create({ file: await batchFile('x'), purpose })).id)
  const ids = async (query: OpenAI.FileListParams) => {
    const all = []
    for await (const { id } of client.files.list(query)) all.push(id)
    return all
  }
  assert.deepEqual(await ids({ limit: 1 }), made)
  assert.deepEqual(await ids({ purpose: 'batch' }), [made[0], made[2]])
  await assert.rejects(client.files.content(made[1]!), /Not allowed to download files of purpose/)
  await client.files.delete(made[1]!)
  assert.deepEqual(await ids({ order: 'asc' }), [made[2], made[0]])
})

test("an account's objects are not visible to other accounts, to other tests or after clear()", async (t) => {
  const mock = await mockFor(t)
  const context = mock.context('other')
  const { id } = await openaiAt(mock).files.create({ file: await batchFile('x'), purpose: 'batch' })
  const other = new OpenAI({
    ...{ baseURL: context.baseUrl('openai'), apiKey: context.key('openai'), maxRetries: 0 },
  })
  await assert.rejects(other.files.retrieve(id), OpenAI.NotFoundError)
  assert.deepEqual((await other.files.list()).data, [])
  mock.clear()
  await assert.rejects(openaiAt(mock).files.retrieve(id), OpenAI.NotFoundError)
})

test("Anthropic's batch ends after two reads, and the mock serves its results", async (t) => {
  const client = anthropicAt(await mockFor(t))
  const params = {
    model: 'claude-sonnet-4-5',
    max_tokens: 9,
    messages: [{ role: 'user' as const, content: 'hi' }],
  }
  const { id, results_url } = await client.messages.batches.create({
    requests: [
      { custom_id: 'a', params },
      { custom_id: 'b', params: { ...params, max_tokens: -1 } },
    ],
  })
  assert.equal(results_url, null)
  assert.equal((await client.messages.batches.retrieve(id)).processing_status, 'in_progress')
  await assert.rejects(client.messages.batches.delete(id), /still being processed/)
  const ended = await client.messages.batches.retrieve(id)
  assert.deepEqual(
    [ended.processing_status, ended.request_counts.succeeded, ended.request_counts.errored],
    ['ended', 1, 1],
  )
  const results = []
  for await (const { custom_id, result } of await client.messages.batches.results(id))
    results.push([
      custom_id,
      result.type,
      result.type === 'succeeded' && result.message.usage.output_tokens > 0,
    ])
  assert.deepEqual(results, [
    ['a', 'succeeded', true],
    ['b', 'errored', false],
  ])
  assert.deepEqual(
    (await client.messages.batches.list()).data.map((each) => each.id),
    [id],
  )
  assert.equal((await client.messages.batches.delete(id)).type, 'message_batch_deleted')
  const second = await client.messages.batches.create({ requests: [{ custom_id: 'a', params }] })
  assert.equal((await client.messages.batches.cancel(second.id)).processing_status, 'canceling')
  assert.equal((await client.messages.batches.retrieve(second.id)).request_counts.canceled, 1)
})

test("Anthropic's files are stored, but cannot be downloaded", async (t) => {
  const { files } = anthropicAt(await mockFor(t)).beta
  const upload = async (name: string) =>
    files.upload({ file: await anthropicFile(Buffer.from('abc'), name, { type: 'text/plain' }) })
  const { id, size_bytes, mime_type } = await upload('a.txt')
  assert.deepEqual([size_bytes, mime_type], [3, 'text/plain'])
  assert.deepEqual(
    (await files.list()).data.map((each) => each.id),
    [id],
  )
  await assert.rejects(files.download(id), /not downloadable/)
  await assert.rejects(upload('a?.txt'), /filename is not valid/)
  await files.delete(id)
  await assert.rejects(files.retrieveMetadata(id), Anthropic.NotFoundError)
})

test("Google's files can be uploaded in parts, and a missing file is a 403", async (t) => {
  const mock = await mockFor(t)
  const { files } = new GoogleGenAI({
    ...{ apiKey: mock.key('gemini'), httpOptions: { baseUrl: `${mock.url}/gemini` } },
  })
  const large = 9 * 2 ** 20 // the client sends 8 MiB in one part
  const file = await files.upload({
    ...{ file: new Blob([new Uint8Array(large)]), config: { mimeType: 'text/plain', displayName: 'zeros' } },
  })
  assert.deepEqual([file.sizeBytes, file.displayName, file.mimeType], [String(large), 'zeros', 'text/plain'])
  assert.equal((await files.get({ name: file.name! })).uri, file.uri)
  const names = []
  for await (const each of await files.list({ config: { pageSize: 1 } })) names.push(each.name)
  assert.deepEqual(names, [file.name])
  await files.delete({ name: file.name! })
  await assert.rejects(files.get({ name: file.name! }), /403|permission/)
})

test('speech is silence in the requested format, and unsupported formats are refused', async (t) => {
  const { audio } = openaiAt(await mockFor(t))
  const say = async (response_format?: 'wav' | 'pcm' | 'mp3' | 'flac') => {
    const answer = await audio.speech.create({
      ...{ model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'hi' },
      ...(response_format && { response_format }),
    })
    return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const wav = await say('wav')
  assert.equal(wav.type, 'audio/wav')
  assert.equal(wav.bytes.subarray(0, 4).toString(), 'RIFF')
  assert.equal(wav.bytes.readUInt32LE(40), wav.bytes.length - 44, 'the length in its head')
  assert.ok(wav.bytes.subarray(44).every((byte) => byte === 0))
  assert.deepEqual((await say('pcm')).bytes, wav.bytes.subarray(44))
  assert.deepEqual([(await say()).type, (await say('mp3')).bytes.length], ['audio/mpeg', 416])
  await assert.rejects(say('flac'), /differs in the format flac/)
})

test('moderations, pictures and ranked documents have the requested number of results', async (t) => {
  const mock = await mockFor(t)
  const client = openaiAt(mock)
  assert.equal((await client.moderations.create({ input: ['a', 'b', 'c'] })).results.length, 3)
  const image = await toFile(Buffer.from('png'), 'a.png', { type: 'image/png' })
  assert.equal((await client.images.edit({ image: [image, image], prompt: 'blue', n: 2 })).data!.length, 2)
  assert.equal((await client.images.createVariation({ image, n: 3 })).data!.length, 3)
  for (const provider of ['cohere', 'jina'] as const) {
    const response = await fetch(`${mock.baseUrl(provider)}/rerank`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mock.key(provider)}` },
      body: JSON.stringify({ model: 'm', query: 'q', documents: ['a', 'b', 'c', 'd'], top_n: 3 }),
    })
    const { results } = (await response.json()) as any
    const scores = results.map((each: any) => each.relevance_score)
    assert.equal(results.length, 3, provider)
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    )
  }
})

test('in-process interception handles requests with files and forms', async () => {
  const interception = interceptProviders()
  try {
    const client = new OpenAI({ apiKey: 'any', maxRetries: 0 })
    const file = await batchFile('{}')
    const { id } = await client.files.create({ file, purpose: 'batch' })
    assert.equal(await (await client.files.content(id)).text(), '{}')
    assert.equal((await client.audio.transcriptions.create({ model: 'whisper-1', file })).text, 'Silence.')
    await assert.rejects(client.audio.transcriptions.create({ model: 'm', file }), OpenAI.NotFoundError)
    await client.files.delete(id)
    await assert.rejects(client.files.retrieve(id), OpenAI.NotFoundError)
  } finally {
    interception.dispose()
  }
})

const form = (fields: Record<string, string | Blob>) => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  return data
}

const FILE = new Blob(['x'])
const documents = ['a']

/** Requests that the real provider refuses: provider, path, body, status, and a part of the error. */
const REFUSED: readonly [string, string, object | FormData, number, RegExp][] = [
  ['openai', 'audio/speech', { model: 'tts-1', voice: 'alloy' }, 400, /Missing required parameter: 'input'/],
  ['openai', 'audio/speech', { model: 'tts-1', voice: 'a', input: 1 }, 400, /Invalid type for 'input'/],
  ['openai', 'audio/transcriptions', form({ model: 'whisper-1' }), 400, /'file'/],
  ['openai', 'audio/transcriptions', form({ model: 'whisper-1', file: 'text' }), 400, /'file'/],
  ['openai', 'audio/translations', form({ file: FILE }), 400, /Missing required parameter: 'model'/],
  ['openai', 'audio/transcriptions', { model: 'whisper-1' }, 400, /could not parse the form/],
  ['openai', 'images/edits', form({ prompt: 'blue' }), 400, /Missing required parameter: 'image'/],
  ['openai', 'images/variations', form({ image: FILE, size: '1x1' }), 400, /Supported values/],
  ['openai', 'moderations', {}, 400, /'input'/],
  ['openai', 'completions', { model: 'gpt-3.5-turbo-instruct' }, 400, /'prompt'/],
  ['openai', 'files', form({ file: FILE, purpose: 'fun' }), 400, /Invalid value: 'fun'/],
  ['openai', 'files', form({ purpose: 'batch' }), 400, /'file'/],
  ['openai', 'batches', { endpoint: '/v1/embeddings', completion_window: '24h' }, 400, /input_file_id/],
  [
    'openai',
    'batches',
    { endpoint: '/v1/embeddings', completion_window: '24h', input_file_id: 'file-x' },
    404,
    /No such File object/,
  ],
  ['anthropic', 'files', form({}), 400, /could not parse|Field required/],
  ['anthropic', 'messages/batches', { requests: [] }, 400, /at least 1 item/],
  ['anthropic', 'messages/batches', { requests: [{ custom_id: 'a b', params: {} }] }, 400, /custom_id/],
  ['cohere', 'rerank', { model: 'm', documents }, 400, /query must be provided/],
  ['jina', 'rerank', { model: 'm', documents }, 422, /Field required|query/],
]

test("a request that the real provider refuses is refused in the provider's words", async (t) => {
  const mock = await mockFor(t)
  for (const [provider, path, body, status, words] of REFUSED) {
    const key = mock.key(provider)
    const response = await fetch(`${mock.baseUrl(provider)}/${path}`, {
      method: 'POST',
      headers: {
        ...(provider === 'anthropic'
          ? { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
          : { authorization: `Bearer ${key}` }),
        ...(!(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, status, `${provider} ${path}: ${text}`)
    assert.match(text, words, `${provider} ${path}`)
  }
})

test('the ledger counts requests that spend, and stores a digest of each body', async (t) => {
  const mock = await mockFor(t)
  const client = openaiAt(mock)
  const { id } = await client.files.create({ file: await batchFile(line('a')), purpose: 'batch' })
  const [uploaded] = mock.entries()
  const body = Buffer.from(String(uploaded!.body)) // the form is text, so it can be checked
  assert.equal(uploaded!.body_sha256, createHash('sha256').update(body).digest('hex'))
  await client.files.retrieve(id)
  await client.batches.create({
    ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
  })
  await client.batches.list()
  assert.deepEqual(
    mock.entries().map(({ kind, method, endpoint }) => `${kind} ${method} ${endpoint}`),
    ['metadata POST files', `metadata GET files/${id}`, 'inference POST batches', 'metadata GET batches'],
  )
})
