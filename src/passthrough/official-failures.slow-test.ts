// The official clients of OpenAI, Anthropic, Google and Cohere at each relayed endpoint, when its provider refuses the
// call and when the client aborts it. Calls that succeed are in official-clients.test.ts.

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import { CohereClient, CohereError } from 'cohere-ai'
import OpenAI, { toFile } from 'openai'
import { until } from '../test/test-until.ts'
import { CLIENT_KEY, HELD, recordedCalls, startForClients } from './test-clients.ts'

type Started = Awaited<ReturnType<typeof startForClients>>
/** A call that a signal aborts. */
type Run = (signal: AbortSignal) => PromiseLike<unknown>

interface Client {
  /** Calls by the endpoint that is on record for them. */
  readonly calls: Readonly<Record<string, readonly Run[]>>
  /** Requests that the client makes before some of the calls, with the provider's answers. */
  readonly first?: Readonly<Record<string, { readonly endpoint: string; readonly answer: object }>>
  /** Body of a 429, as its provider writes it. */
  readonly refusal: object
  /** Error that the client throws for this body. */
  readonly error: abstract new (
    ...args: never[]
  ) => Error
  /** Status in that error. */
  readonly status: (error: any) => unknown
}

const REFUSAL = 'Too much for today. This is synthetic.'

async function openAi({ gateway }: Started): Promise<Client> {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 })
  const { audio, images, moderations, completions, files, batches } = client
  const sound = await toFile(Buffer.from('RIFF'), 'a.wav')
  const picture = await toFile(Buffer.from('png'), 'a.png', { type: 'image/png' })
  const upload = {
    file: await toFile(Buffer.from('{"custom_id":"a"}'), 'a.jsonl'),
    purpose: 'batch',
  } as const
  const { id } = await files.create(upload)
  const order = { input_file_id: id, endpoint: '/v1/completions', completion_window: '24h' } as const
  const batch = (await batches.create(order)).id
  const speech = { model: 'tts-1', voice: 'alloy', input: 'hi' } as const
  const spoken = { model: 'gpt-4o-transcribe', file: sound }
  const edit = { model: 'gpt-image-1', image: picture, prompt: 'blue' }
  const text = { model: 'gpt-3.5-turbo-instruct', prompt: 'It' }
  return {
    calls: {
      'POST /v1/audio/speech': [
        (signal) => audio.speech.create(speech, { signal }),
        (signal) => audio.speech.create({ ...speech, stream_format: 'sse' }, { signal }),
      ],
      'POST /v1/audio/transcriptions': [
        (signal) => audio.transcriptions.create(spoken, { signal }),
        (signal) => audio.transcriptions.create({ ...spoken, stream: true }, { signal }),
      ],
      'POST /v1/audio/translations': [
        (signal) => audio.translations.create({ model: 'whisper-1', file: sound }, { signal }),
      ],
      'POST /v1/images/edits': [
        (signal) => images.edit(edit, { signal }),
        (signal) => images.edit({ ...edit, stream: true }, { signal }),
      ],
      'POST /v1/images/variations': [(signal) => images.createVariation({ image: picture }, { signal })],
      'POST /v1/moderations': [(signal) => moderations.create({ input: 'hi' }, { signal })],
      'POST /v1/completions': [
        (signal) => completions.create(text, { signal }),
        (signal) => completions.create({ ...text, stream: true }, { signal }),
      ],
      'POST /v1/files': [(signal) => files.create(upload, { signal })],
      'GET /v1/files': [(signal) => files.list({}, { signal })],
      'GET /v1/files/{id}': [(signal) => files.retrieve(id, { signal })],
      'GET /v1/files/{id}/content': [(signal) => files.content(id, { signal })],
      'DELETE /v1/files/{id}': [(signal) => files.delete(id, { signal })],
      'POST /v1/batches': [(signal) => batches.create(order, { signal })],
      'GET /v1/batches': [(signal) => batches.list({}, { signal })],
      'GET /v1/batches/{id}': [(signal) => batches.retrieve(batch, { signal })],
      'POST /v1/batches/{id}/cancel': [(signal) => batches.cancel(batch, { signal })],
    },
    refusal: { error: { message: REFUSAL, type: 'requests', param: null, code: 'rate_limit_exceeded' } },
    error: OpenAI.RateLimitError,
    status: ({ status }) => status,
  }
}

async function anthropic({ gateway }: Started): Promise<Client> {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: CLIENT_KEY, maxRetries: 0 })
  const { files } = client.beta
  const { batches } = client.messages
  const upload = { file: await anthropicFile(Buffer.from('abc'), 'a.txt', { type: 'text/plain' }) }
  const { id } = await files.upload(upload)
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const order = {
    requests: [{ custom_id: 'a', params: { model: 'claude-sonnet-4-5', max_tokens: 9, messages } }],
  }
  const batch = (await batches.create(order)).id
  return {
    calls: {
      'POST /v1/files': [(signal) => files.upload(upload, { signal })],
      'GET /v1/files': [(signal) => files.list({}, { signal })],
      'GET /v1/files/{id}': [(signal) => files.retrieveMetadata(id, {}, { signal })],
      'GET /v1/files/{id}/content': [(signal) => files.download(id, {}, { signal })],
      'DELETE /v1/files/{id}': [(signal) => files.delete(id, {}, { signal })],
      'POST /v1/messages/batches': [(signal) => batches.create(order, { signal })],
      'GET /v1/messages/batches': [(signal) => batches.list({}, { signal })],
      'GET /v1/messages/batches/{id}': [(signal) => batches.retrieve(batch, {}, { signal })],
      'POST /v1/messages/batches/{id}/cancel': [(signal) => batches.cancel(batch, {}, { signal })],
      'DELETE /v1/messages/batches/{id}': [(signal) => batches.delete(batch, {}, { signal })],
      'GET /v1/messages/batches/{id}/results': [(signal) => batches.results(batch, {}, { signal })],
    },
    first: {
      'GET /v1/messages/batches/{id}/results': {
        endpoint: 'GET /v1/messages/batches/{id}',
        answer: {
          body: { id: batch, results_url: `https://api.anthropic.com/v1/messages/batches/${batch}/results` },
        },
      },
    },
    refusal: { type: 'error', error: { type: 'rate_limit_error', message: REFUSAL } },
    error: Anthropic.RateLimitError,
    status: ({ status }) => status,
  }
}

async function google({ gateway }: Started): Promise<Client> {
  // The client passes a signal on to only some of its functions, so a `fetch` with the signal is set.
  const files = (signal: AbortSignal) => {
    const own: typeof fetch = (input, init) => fetch(input, { ...init, signal })
    return new GoogleGenAI({ apiKey: CLIENT_KEY, httpOptions: { baseUrl: gateway.url, fetch: own } }).files
  }
  const upload = { file: new Blob(['abc']), config: { mimeType: 'text/plain' } }
  const { name = '' } = await files(new AbortController().signal).upload(upload)
  return {
    calls: {
      'POST /upload/v1/files': [(signal) => files(signal).upload(upload)],
      'POST /upload/v1beta/files': [(signal) => files(signal).upload(upload)],
      'GET /v1/files': [(signal) => files(signal).list()],
      'GET /v1/files/{id}': [(signal) => files(signal).get({ name })],
      'GET /v1/files/{id}:download': [
        (signal) => files(signal).download({ file: name, downloadPath: join(tmpdir(), 'waybill-none') }),
      ],
      'DELETE /v1/files/{id}': [(signal) => files(signal).delete({ name })],
    },
    first: {
      'POST /upload/v1beta/files': {
        endpoint: 'POST /upload/v1/files',
        answer: {
          body: {},
          headers: { 'x-goog-upload-url': 'https://google.invalid/upload?upload_id=up-1' },
        },
      },
    },
    refusal: { error: { code: 429, message: REFUSAL, status: 'RESOURCE_EXHAUSTED' } },
    error: ApiError,
    status: ({ status }) => status,
  }
}

async function cohere({ gateway }: Started): Promise<Client> {
  const settings = { token: CLIENT_KEY, environment: gateway.url, maxRetries: 0 }
  // The client does not clear its timer when it is aborted, so the process would keep running for five minutes.
  const client = new CohereClient({ ...settings, timeoutInSeconds: 10 })
  const ask = { model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'] }
  return {
    calls: {
      'POST /v1/rerank': [(abortSignal) => client.rerank(ask, { abortSignal })],
      'POST /v2/rerank': [(abortSignal) => client.v2.rerank(ask, { abortSignal })],
    },
    refusal: { id: 'synthetic', message: REFUSAL },
    error: CohereError,
    status: ({ statusCode }) => statusCode,
  }
}

for (const make of [openAi, anthropic, google, cohere])
  test(`the official ${make.name} client throws its own error at each endpoint, and can abort each call`, async (t) => {
    const started = await startForClients(t, 'cohere')
    const { gateway, mock } = started
    const { calls, first = {}, refusal, error, status } = await make(started)
    const before = (await recordedCalls(gateway)).length
    const expected: string[] = []
    /** Sets the answer to all requests of a call except the first ones. */
    const answer = (endpoint: string, it: object) => {
      mock.clear()
      const begin = first[endpoint]
      if (begin) mock.answer({ ...begin.answer, kind: 'metadata' })
      for (const kind of ['inference', 'metadata'] as const) mock.answer({ ...it, kind, times: 'every' })
      if (begin) expected.push(`${begin.endpoint} completed`)
      return () => mock.entries()[begin ? 1 : 0]
    }
    for (const [endpoint, runs] of Object.entries(calls))
      for (const [n, run] of runs.entries()) {
        const what = `${endpoint}, ${n + 1} of ${runs.length}`
        answer(endpoint, { status: 429, body: refusal })
        await assert.rejects(
          async () => run(new AbortController().signal),
          (thrown: any) =>
            thrown instanceof error && status(thrown) === 429 && thrown.message.includes(REFUSAL),
          what,
        )
        expected.push(`${endpoint} failed`)
        const entry = answer(endpoint, HELD)
        const client = new AbortController()
        const running = Promise.resolve(run(client.signal))
        running.catch(() => {})
        await until('the call arrives', entry)
        client.abort()
        await assert.rejects(running, /abort/i, what)
        await until('the provider is left', () => entry()?.peer_left_at)
        expected.push(`${endpoint} aborted`)
      }
    t.diagnostic(`${expected.length} calls`)
    assert.deepEqual((await recordedCalls(gateway)).slice(before), expected)
  })
