// The official clients of OpenAI, Anthropic and Google at endpoints that are relayed: a call, a stream where there is
// one, an error, and an abort. The provider answers in the shapes of each vendor's API reference.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import type { TestGateway } from '../test/test-gateway.ts'
import { gatewayTo, replyWith, startProvider } from './test-provider.ts'

const KEY = 'wb-key-of-the-test'
const WAV = Buffer.concat([Buffer.from('RIFF$\0\0\0WAVEfmt '), Buffer.alloc(28)])

const ANSWERS: Readonly<Record<string, unknown>> = {
  'POST /v1/audio/transcriptions': {
    text: 'silence',
    usage: { type: 'tokens', input_tokens: 4, output_tokens: 1, total_tokens: 5 },
  },
  'POST /v1/audio/translations': { text: 'silence' },
  'POST /v1/images/edits': { created: 1, data: [{ b64_json: 'AA==' }] },
  'POST /v1/images/variations': { created: 1, data: [{ b64_json: 'AA==' }] },
  'POST /v1/moderations': { id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false }] },
  'POST /v1/files': {
    id: 'file-abcdef1',
    object: 'file',
    bytes: 3,
    filename: 'a.jsonl',
    purpose: 'batch',
    type: 'file',
  },
  'GET /v1/files': { object: 'list', data: [{ id: 'file-abcdef1', object: 'file' }], has_more: false },
  'GET /v1/files/file-abcdef1': { id: 'file-abcdef1', object: 'file' },
  'DELETE /v1/files/file-abcdef1': { id: 'file-abcdef1', deleted: true },
  'POST /v1/batches': { id: 'batch_abcdef1', object: 'batch', status: 'validating' },
  'GET /v1/batches/batch_abcdef1': {
    id: 'batch_abcdef1',
    object: 'batch',
    status: 'completed',
    request_counts: { total: 1, completed: 1, failed: 0 },
  },
  'GET /v1/batches': { object: 'list', data: [{ id: 'batch_abcdef1' }], has_more: false },
  'POST /v1/batches/batch_abcdef1/cancel': { id: 'batch_abcdef1', object: 'batch', status: 'cancelling' },
  'POST /v1/messages/batches': {
    id: 'msgbatch_abcdef1',
    type: 'message_batch',
    processing_status: 'in_progress',
    results_url: null,
  },
  'GET /v1/messages/batches/msgbatch_abcdef1': {
    id: 'msgbatch_abcdef1',
    type: 'message_batch',
    processing_status: 'ended',
    results_url: 'https://api.anthropic.invalid/v1/messages/batches/msgbatch_abcdef1/results',
  },
}

const completion = (text: string, stream: boolean) =>
  stream
    ? `data: {"id":"c","object":"text_completion","choices":[{"text":"${text}","index":0}]}\n\ndata: [DONE]\n\n`
    : {
        id: 'c',
        object: 'text_completion',
        model: 'm',
        choices: [{ text, index: 0 }],
        usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
      }

async function start(t: TestContext) {
  const provider = await startProvider(t, async (response, arrived) => {
    const path = arrived.url.replace(/\?.*/, '')
    const asked = `${arrived.method} ${path}`
    const body = arrived.body.toString('latin1')
    if (body.includes('refuse me'))
      return replyWith({ error: { message: 'refused', type: 'invalid_request_error', code: 'bad' } }, 400)(
        response,
        arrived,
      )
    if (body.includes('wait for me')) return
    if (asked === 'POST /v1/audio/speech')
      return response.writeHead(200, { 'content-type': 'audio/wav' }).end(WAV)
    if (path.endsWith('/content'))
      return response.writeHead(200, { 'content-type': 'application/octet-stream' }).end('{}\n')
    if (path.endsWith('/results'))
      return response
        .writeHead(200, { 'content-type': 'application/x-jsonl' })
        .end(
          `${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message: { model: 'claude-sonnet-4-5', usage: { input_tokens: 3, output_tokens: 2 } } } })}\n`,
        )
    if (asked === 'POST /v1/completions') {
      const stream = JSON.parse(body).stream === true
      return replyWith(
        completion('hi', stream),
        200,
        stream ? { 'content-type': 'text/event-stream' } : {},
      )(response, arrived)
    }
    if (asked === 'POST /v1/audio/transcriptions' && body.includes('name="stream"')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return response.end(
        'data: {"type":"transcript.text.delta","delta":"sil"}\n\ndata: {"type":"transcript.text.done","text":"silence","usage":{"type":"tokens","input_tokens":4,"output_tokens":2,"total_tokens":6}}\n\n',
      )
    }
    if (path.startsWith('/upload/') && arrived.url.includes('upload_id'))
      return replyWith(
        { file: { name: 'files/abcdef1', uri: 'https://google.invalid/files/abcdef1' } },
        200,
        { 'x-goog-upload-status': 'final' },
      )(response, arrived)
    if (path.startsWith('/upload/'))
      return replyWith('{}', 200, {
        'x-goog-upload-url': 'https://google.invalid/upload/v1beta/files?upload_id=u1',
      })(response, arrived)
    if (arrived.headers['x-goog-api-client'] !== undefined)
      return replyWith(
        path.endsWith('/files')
          ? { files: [{ name: 'files/abcdef1' }] }
          : { name: 'files/abcdef1', state: 'ACTIVE' },
      )(response, arrived)
    const anthropic = arrived.headers['anthropic-version'] !== undefined
    const known =
      anthropic && path.startsWith('/v1/files/') && arrived.method === 'GET'
        ? { id: 'file-abcdef1', type: 'file' }
        : ANSWERS[asked]
    return replyWith(
      known ?? { error: { message: `no ${asked}`, type: 'not_found_error' } },
      known ? 200 : 404,
    )(response, arrived)
  })
  const { origin } = provider
  const digest = createHash('sha256').update(KEY).digest('hex')
  const gateway = await gatewayTo(
    t,
    {
      openai: { dialect: 'openai', origin },
      anthropic: { dialect: 'messages', origin },
      google: { dialect: 'gemini', origin },
    },
    `passthrough: [audio, moderations, rerank, completions, image-edits, files, batches]
keys: [ { name: team, digest: "sha256:${digest}" } ]`,
  )
  return { gateway, provider }
}

/** Returns the calls of the key on record, oldest first. */
const recorded = async (gateway: TestGateway): Promise<string[]> => {
  const headers = { authorization: `Bearer ${KEY}` }
  let { json } = await gateway.get('/api/usage/request-logs?limit=100', { headers })
  for (let tries = 0; json.data[0].state === 'routed' && tries < 100; tries++) {
    await sleep(20)
    json = (await gateway.get('/api/usage/request-logs?limit=100', { headers })).json
  }
  return json.data.map(({ method, endpoint, state }: any) => `${method} ${endpoint} ${state}`).reverse()
}

test("OpenAI's client: audio, pictures, moderations, completions, files and batches", async (t) => {
  const { gateway } = await start(t)
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  const speech = await client.audio.speech.create({ model: 'openai/tts-1', voice: 'alloy', input: 'hi' })
  assert.deepEqual(Buffer.from(await speech.arrayBuffer()), WAV)
  const file = await toFile(WAV, 'a.wav')
  assert.equal((await client.audio.transcriptions.create({ model: 'whisper-1', file })).text, 'silence')
  assert.equal((await client.audio.translations.create({ model: 'whisper-1', file })).text, 'silence')
  const events = []
  for await (const event of await client.audio.transcriptions.create({
    model: 'gpt-4o-transcribe',
    file,
    stream: true,
  }))
    events.push(event.type)
  assert.deepEqual(events, ['transcript.text.delta', 'transcript.text.done'])
  const image = await toFile(Buffer.from('png'), 'a.png', { type: 'image/png' })
  assert.equal((await client.images.edit({ model: 'gpt-image-1', image, prompt: 'blue' })).data!.length, 1)
  assert.equal((await client.images.createVariation({ image })).data!.length, 1)
  assert.equal((await client.moderations.create({ input: 'hi' })).results[0]!.flagged, false)
  assert.equal((await client.completions.create({ model: 'openai/m', prompt: 'a' })).choices[0]!.text, 'hi')
  let text = ''
  for await (const chunk of await client.completions.create({ model: 'openai/m', prompt: 'a', stream: true }))
    text += chunk.choices[0]!.text
  assert.equal(text, 'hi')
  const { id } = await client.files.create({
    file: await toFile(Buffer.from('{}\n'), 'a.jsonl'),
    purpose: 'batch',
  })
  assert.equal((await client.files.retrieve(id)).id, id)
  assert.equal(await (await client.files.content(id)).text(), '{}\n')
  assert.deepEqual(
    (await client.files.list()).data.map((each) => each.id),
    [id],
  )
  const batch = await client.batches.create({
    input_file_id: id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  assert.equal((await client.batches.cancel(batch.id)).status, 'cancelling')
  assert.equal((await client.batches.retrieve(batch.id)).status, 'completed')
  assert.equal((await client.batches.list()).data.length, 1)
  assert.equal((await client.files.delete(id)).deleted, true)
  await assert.rejects(client.files.retrieve('file-of-somebody'), OpenAI.NotFoundError)
  await assert.rejects(
    client.moderations.create({ input: 'refuse me' }),
    (error: any) => error.status === 400 && error.code === 'bad',
  )
  const gone = new AbortController()
  setTimeout(() => gone.abort(), 200)
  await assert.rejects(
    client.moderations.create({ input: 'wait for me' }, { signal: gone.signal }),
    OpenAI.APIUserAbortError,
  )
  const calls = await recorded(gateway)
  assert.equal(calls.length, 20)
  assert.deepEqual(calls.slice(-2), ['POST /v1/moderations failed', 'POST /v1/moderations aborted'])
})

test("Anthropic's client: files and batches, whose results do not bypass the gateway", async (t) => {
  const { gateway, provider } = await start(t)
  const client = new Anthropic({ baseURL: gateway.url, apiKey: KEY, maxRetries: 0 })
  const { id } = await client.beta.files.upload({
    file: await anthropicFile(Buffer.from('abc'), 'a.txt', { type: 'text/plain' }),
  })
  assert.equal((await client.beta.files.retrieveMetadata(id)).id, id)
  assert.equal(await (await client.beta.files.download(id)).text(), '{}\n')
  const batch = await client.messages.batches.create({
    requests: [
      {
        custom_id: 'a',
        params: { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      },
    ],
  })
  const results = []
  for await (const result of await client.messages.batches.results(batch.id)) results.push(result.result.type)
  assert.deepEqual(results, ['succeeded'])
  assert.ok(provider.arrived.some(({ url }) => url.endsWith('/results')))
  await assert.rejects(client.beta.files.retrieveMetadata('file_of_somebody'), Anthropic.NotFoundError)
  await assert.rejects(
    client.messages.batches.create({
      requests: [{ custom_id: 'refuse me', params: { model: 'm', max_tokens: 1, messages: [] } }],
    }),
    Anthropic.BadRequestError,
  )
  const gone = new AbortController()
  setTimeout(() => gone.abort(), 200)
  await assert.rejects(
    client.messages.batches.create(
      { requests: [{ custom_id: 'wait for me', params: { model: 'm', max_tokens: 1, messages: [] } }] },
      { signal: gone.signal },
    ),
    Anthropic.APIUserAbortError,
  )
  const calls = await recorded(gateway)
  assert.ok(calls.includes('POST /v1/messages/batches completed'), 'the batch is priced by its results')
  assert.deepEqual(calls.slice(-2), ['POST /v1/messages/batches failed', 'POST /v1/messages/batches aborted'])
})

test("Google's client: an upload in parts, and what follows", async (t) => {
  const { gateway } = await start(t)
  const { files } = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } })
  const file = await files.upload({
    file: new Blob(['abc'], { type: 'text/plain' }),
    config: { mimeType: 'text/plain' },
  })
  assert.equal(file.name, 'files/abcdef1')
  assert.equal((await files.get({ name: 'files/abcdef1' })).state, 'ACTIVE')
  const names = []
  for await (const each of await files.list()) names.push(each.name)
  assert.deepEqual(names, ['files/abcdef1'])
  await files.delete({ name: 'files/abcdef1' })
  await assert.rejects(files.get({ name: 'files/ofsomebody' }), /404|NOT_FOUND|No such object/)
  assert.deepEqual(await recorded(gateway), [
    'POST /upload/v1/files completed',
    'POST /upload/v1beta/files completed',
    'GET /v1/files/{id} completed',
    'GET /v1/files completed',
    'DELETE /v1/files/{id} completed',
  ])
})
