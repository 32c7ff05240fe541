// The official clients of OpenAI, Anthropic, Google and Cohere at relayed endpoints, through a gateway to the mocks.
// Each endpoint has a call and a stream (if any); errors and aborts at each endpoint are in
// official-failures.slow-test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { CohereClient, CohereError } from 'cohere-ai'
import OpenAI, { toFile } from 'openai'
import { pause } from '../test/test-until.ts'
import { CLIENT_KEY, HELD, keyRecords, recordedCalls, startForClients } from './test-clients.ts'

test("OpenAI's client can use audio, images, moderations and completions", async (t) => {
  const { gateway, mock } = await startForClients(t)
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 })
  const speech = await client.audio.speech.create({
    ...{ model: 'openai/tts-1', voice: 'alloy', input: 'hi', response_format: 'wav' },
  })
  assert.equal(speech.headers.get('content-type'), 'audio/wav')
  assert.equal(Buffer.from(await speech.arrayBuffer()).length, 1644, 'a tenth of a second')
  const spoken = await client.audio.speech.create({
    ...{ model: 'tts-1', voice: 'alloy', input: 'hi', stream_format: 'sse' },
  })
  assert.match(await spoken.text(), /^data: \{"type":"speech.audio.delta".*"speech.audio.done"/s)
  const file = await toFile(Buffer.from('RIFF'), 'a.wav')
  const { transcriptions, translations } = client.audio
  assert.equal((await transcriptions.create({ model: 'whisper-1', file })).text, 'Silence.')
  assert.equal((await translations.create({ model: 'whisper-1', file })).text, 'Silence.')
  const events = []
  for await (const { type } of await transcriptions.create({
    model: 'gpt-4o-transcribe',
    file,
    stream: true,
  }))
    events.push(type)
  assert.deepEqual(events, ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'])
  const image = await toFile(Buffer.from('png'), 'a.png', { type: 'image/png' })
  assert.equal((await client.images.edit({ model: 'gpt-image-1', image, prompt: 'blue' })).data!.length, 1)
  const edited = []
  for await (const event of await client.images.edit({
    ...{ model: 'openai/gpt-image-1', image, prompt: 'blue', stream: true, partial_images: 2 },
  }))
    edited.push(event)
  const shown = edited.map(({ type, b64_json }) => [
    type,
    Buffer.from(b64_json, 'base64').toString('latin1', 1, 4),
  ])
  assert.deepEqual(shown, [
    ['image_edit.partial_image', 'PNG'],
    ['image_edit.partial_image', 'PNG'],
    ['image_edit.completed', 'PNG'],
  ])
  const [priced] = await keyRecords(gateway)
  const last = edited.at(-1)!
  assert.ok(last.type === 'image_edit.completed')
  const { input_tokens_details: input, output_tokens: output } = last.usage
  assert.deepEqual(
    [priced.stream, priced.tokens.input, priced.tokens.output],
    [true, input.text_tokens + input.image_tokens, output],
  )
  const expected = (input.text_tokens * 5 + input.image_tokens * 10 + output * 40) / 1e6
  assert.ok(Math.abs(priced.cost_usd - expected) < 1e-12, `${priced.cost_usd} instead of ${expected}`)
  assert.equal((await client.images.createVariation({ image, n: 2 })).data!.length, 2)
  assert.equal((await client.moderations.create({ input: 'hi' })).results[0]!.flagged, false)
  const ask = { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'It' }
  assert.equal((await client.completions.create(ask)).choices[0]!.text, ' is quiet here.')
  let text = ''
  for await (const chunk of await client.completions.create({ ...ask, stream: true }))
    text += chunk.choices[0]?.text ?? ''
  assert.equal(text, ' is quiet here.')
  await assert.rejects(
    client.audio.speech.create({ model: 'openai/tts-1', voice: 'alloy', input: '' }),
    (error: any) => error instanceof OpenAI.BadRequestError && error.param === 'input',
  )
  await assert.rejects(
    client.audio.speech.create({ model: 'openai/whisper-1', voice: 'alloy', input: 'hi' }),
    (error: any) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found',
  )
  const begun = { type: 'image_edit.partial_image', b64_json: 'AA==', partial_image_index: 0 }
  mock.answer({ events: [{ data: begun }, ...HELD.events] })
  const edit = await client.images.edit({ model: 'gpt-image-1', image, prompt: 'blue', stream: true })
  for await (const { type } of edit) {
    assert.equal(type, 'image_edit.partial_image')
    edit.controller.abort()
  }
  mock.answer(HELD)
  const gone = new AbortController()
  void pause(200).then(() => gone.abort())
  await assert.rejects(
    client.moderations.create({ input: 'hi' }, { signal: gone.signal }),
    OpenAI.APIUserAbortError,
  )
  assert.deepEqual(await recordedCalls(gateway), [
    'POST /v1/audio/speech completed',
    'POST /v1/audio/speech completed',
    'POST /v1/audio/transcriptions completed',
    'POST /v1/audio/translations completed',
    'POST /v1/audio/transcriptions completed',
    'POST /v1/images/edits completed',
    'POST /v1/images/edits completed',
    'POST /v1/images/variations completed',
    'POST /v1/moderations completed',
    'POST /v1/completions completed',
    'POST /v1/completions completed',
    'POST /v1/audio/speech failed',
    'POST /v1/audio/speech failed',
    'POST /v1/images/edits aborted',
    'POST /v1/moderations aborted',
  ])
})

test("OpenAI's client can create a file, and run a batch to its end", async (t) => {
  const { gateway } = await startForClients(t)
  const { files, batches } = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 })
  const body = { model: 'gpt-6-luna', messages: [{ role: 'user', content: 'hi' }] }
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body }
  const file = await toFile(Buffer.from(JSON.stringify(line)), 'a.jsonl')
  const { id } = await files.create({ file, purpose: 'batch' })
  assert.equal((await files.retrieve(id)).bytes, JSON.stringify(line).length)
  assert.deepEqual(JSON.parse(await (await files.content(id)).text()), line)
  const batch = await batches.create({
    ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
  })
  await batches.retrieve(batch.id)
  const { status, output_file_id } = await batches.retrieve(batch.id)
  assert.equal(status, 'completed')
  const answer = JSON.parse(await (await files.content(output_file_id!)).text())
  assert.equal(answer.response.status_code, 200)
  assert.deepEqual(
    (await files.list()).data.map((each) => each.id),
    [output_file_id, id],
  )
  assert.deepEqual(
    (await batches.list()).data.map((each) => each.id),
    [batch.id],
  )
  await assert.rejects(batches.cancel(batch.id), OpenAI.BadRequestError)
  assert.equal((await files.delete(id)).deleted, true)
  await assert.rejects(files.retrieve('file-of-somebody'), OpenAI.NotFoundError)
  const calls = await recordedCalls(gateway)
  assert.ok(calls.includes('POST /v1/batches completed'), 'it is priced by its usage')
})

test("Anthropic's client can use files and batches, and results do not bypass the gateway", async (t) => {
  const { gateway, mock } = await startForClients(t)
  const client = new Anthropic({ baseURL: gateway.url, apiKey: CLIENT_KEY, maxRetries: 0 })
  const { id } = await client.beta.files.upload({
    file: await anthropicFile(Buffer.from('abc'), 'a.txt', { type: 'text/plain' }),
  })
  assert.equal((await client.beta.files.retrieveMetadata(id)).size_bytes, 3)
  await assert.rejects(client.beta.files.download(id), /not downloadable/)
  const params = {
    model: 'claude-sonnet-4-5',
    max_tokens: 9,
    messages: [{ role: 'user' as const, content: 'hi' }],
  }
  const { batches } = client.messages
  const batch = await batches.create({ requests: [{ custom_id: 'a', params }] })
  await batches.retrieve(batch.id)
  const { results_url } = await batches.retrieve(batch.id)
  assert.ok(results_url!.startsWith(gateway.url), results_url!)
  const results = []
  for await (const { result } of await batches.results(batch.id)) results.push(result.type)
  assert.deepEqual(results, ['succeeded'])
  assert.ok(mock.entries().some(({ path }) => path.endsWith('/results')))
  await assert.rejects(client.beta.files.retrieveMetadata('file_of_somebody'), Anthropic.NotFoundError)
  await assert.rejects(batches.create({ requests: [] }), Anthropic.BadRequestError)
  mock.answer(HELD)
  const gone = new AbortController()
  void pause(200).then(() => gone.abort())
  await assert.rejects(
    batches.create({ requests: [{ custom_id: 'a', params }] }, { signal: gone.signal }),
    Anthropic.APIUserAbortError,
  )
  const calls = await recordedCalls(gateway)
  assert.ok(calls.includes('POST /v1/messages/batches completed'), 'the batch is priced by its results')
  assert.deepEqual(calls.slice(-2), ['POST /v1/messages/batches failed', 'POST /v1/messages/batches aborted'])
})

test("Google's client can upload a file in parts, list it, and delete it", async (t) => {
  const { gateway, mock } = await startForClients(t)
  const { files } = new GoogleGenAI({ apiKey: CLIENT_KEY, httpOptions: { baseUrl: gateway.url } })
  const large = 9 * 2 ** 20 // the client sends 8 MiB in one piece
  const file = await files.upload({
    ...{ file: new Blob([new Uint8Array(large)]), config: { mimeType: 'text/plain' } },
  })
  assert.equal(file.sizeBytes, String(large))
  const name = file.name!
  assert.equal((await files.get({ name })).state, 'ACTIVE')
  const names = []
  for await (const each of await files.list()) names.push(each.name)
  assert.deepEqual(names, [name])
  // The client does not pass on the signal in an upload.
  mock.answer({ ...HELD, kind: 'metadata' })
  const gone = new AbortController()
  void pause(200).then(() => gone.abort())
  await assert.rejects(files.get({ name, config: { abortSignal: gone.signal } }), /abort/i)
  await files.delete({ name })
  await assert.rejects(files.get({ name: 'files/ofsomebody' }), /404|NOT_FOUND|No such object/)
  assert.deepEqual(await recordedCalls(gateway), [
    'POST /upload/v1/files completed',
    'POST /upload/v1beta/files completed',
    'POST /upload/v1beta/files completed',
    'GET /v1/files/{id} completed',
    'GET /v1/files completed',
    'GET /v1/files/{id} aborted',
    'DELETE /v1/files/{id} completed',
  ])
})

test('documents are ranked in the formats of Cohere and Jina', async (t) => {
  const { gateway, mock } = await startForClients(t)
  const rerank = async (path: string, model: string, more = {}) => {
    const { status, json } = await gateway.get(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, query: 'q', documents: ['a', 'b', 'c'], ...more }),
    })
    return { status, json, at: mock.entries().at(-1)! }
  }
  const client = new CohereClient({ token: CLIENT_KEY, environment: gateway.url, maxRetries: 0 })
  const ask = { model: 'cohere/rerank-v3.5', query: 'q', documents: ['a', 'b', 'c'] }
  for (const answer of [
    await client.v2.rerank(ask),
    await client.rerank({ ...ask, returnDocuments: true }),
  ]) {
    assert.equal(answer.results.length, 3)
    assert.equal(answer.meta?.billedUnits?.searchUnits, 1)
  }
  assert.deepEqual(
    mock.entries().map(({ path, problems }) => [path, problems]),
    [
      ['/cohere/v2/rerank', []],
      ['/cohere/v2/rerank', []],
    ],
  )
  await assert.rejects(
    client.v2.rerank({ ...ask, model: 'cohere/rerank-of-nobody' }),
    (error: any) =>
      error instanceof CohereError && error.statusCode === 404 && /not found/.test(error.message),
  )
  const jina = await rerank('/v1/rerank', 'jina-reranker-v2-base-multilingual', { return_documents: true })
  assert.deepEqual([jina.status, jina.at.path, jina.at.problems], [200, '/jina/v1/rerank', []])
  assert.ok(jina.json.results.every((each: any) => ['a', 'b', 'c'][each.index] === each.document.text))
  const refused = await rerank('/v1/rerank', 'm', { query: undefined })
  assert.equal(refused.status, 422)
})
