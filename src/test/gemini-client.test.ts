// Google's official client calls a gateway whose provider is the mock. The client must not notice a
// difference from the real API.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import { ApiError, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import { pause } from './test-until.ts'

const KEY = 'wb-key-of-the-test'
const data = mkdtempSync(join(tmpdir(), 'waybill-'))
let mock: MockProviders
let gateway: Gateway
let models: GoogleGenAI['models']

const clientWith = (apiKey: string) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } } })

suite('Google’s official client', () => {
  before(async () => {
    mock = await createMockProviders()
    const digest = createHash('sha256').update(KEY).digest('hex')
    const config = `
server: { port: 0 }
data: ${data}
providers: { gemini: { dialect: gemini, base_url: "${mock.baseUrl('gemini')}", key: $KEY } }
models: { gemini/gemini-2.5-flash: { price: { input: 0.3, output: 2.5, cached_input: 0.03 } } }
routes: { auto: { targets: [ { model: gemini/gemini-2.5-flash } ] } }
defaults: { gemini: auto }
resilience: { cooldown: 0s, idle: 2s }
keys: [ { name: test, role: admin, digest: "sha256:${digest}" } ]`
    gateway = await createGateway(parseConfig(config, 'w.yaml', { env: { KEY: mock.key('gemini') } }))
    models = clientWith(KEY).models
  })
  after(async () => {
    await gateway.close(100)
    await mock.close()
    rmSync(data, { recursive: true })
  })
  beforeEach(() => mock.clear())

  const ask = { model: 'auto', contents: 'where to?' }
  const config = {
    tools: [
      {
        functionDeclarations: [
          {
            name: 'get_weather',
            parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
          },
        ],
      },
    ],
  }

  async function streamed(request: Parameters<typeof models.generateContentStream>[0]) {
    const chunks: GenerateContentResponse[] = []
    for await (const chunk of await models.generateContentStream(request)) chunks.push(chunk)
    return chunks
  }

  /** Returns the newest record, once it is closed. */
  async function newestRecord(): Promise<any> {
    for (;;) {
      const response = await fetch(`${gateway.url}/api/usage/request-logs?limit=1`, {
        headers: { 'x-goog-api-key': KEY },
      })
      const {
        data: [record],
      }: any = await response.json()
      if (record?.completed_at) return record
      await pause(10)
    }
  }

  test('generateContent receives the answer, its usage is on record, and the provider accepts one valid inference', async () => {
    const { text, usageMetadata, candidates } = await models.generateContent(ask)
    assert.match(text!, /recorded answer/)
    assert.equal(candidates![0]!.finishReason, 'STOP')
    const record = await newestRecord()
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0 } = usageMetadata!
    assert.deepEqual(
      [record.resolved_model, record.tokens.input, record.tokens.output, record.key_name, record.stream],
      ['gemini-2.5-flash', promptTokenCount, candidatesTokenCount! + thoughtsTokenCount, 'test', false],
    )
    assert.ok(record.cost_usd > 0)
    const [entry, ...more] = mock.entries()
    assert.deepEqual([more.length, entry!.kind, entry!.problems], [0, 'inference', []])
  })

  test('generateContentStream receives texts, parallel calls, separate thoughts, and signatures byte for byte', async () => {
    const texts = await streamed(ask)
    assert.match(texts.map(({ text }) => text).join(''), /Viele Grüße/)
    const record = await newestRecord()
    assert.deepEqual(
      [record.state, record.stream, record.tokens.output],
      ['completed', true, texts.at(-1)!.usageMetadata!.candidatesTokenCount],
    )
    const calls = await streamed({ ...ask, model: 'gemini/scenario-tools-parallel', config })
    assert.deepEqual(
      calls.flatMap(({ functionCalls }) => functionCalls ?? []).map(({ args }) => args!.city),
      ['Hamburg', 'Oslo'],
    )
    const thoughts = await streamed({ ...ask, model: 'gemini/scenario-reasoning' })
    const parts = thoughts.flatMap(({ candidates }) => candidates![0]!.content!.parts!)
    assert.ok(parts[0]!.thought)
    assert.ok((await newestRecord()).tokens.reasoning > 0)

    const called = await models.generateContent({ ...ask, config })
    const made = called.candidates![0]!.content!
    assert.ok(made.parts!.some(({ thoughtSignature }) => thoughtSignature))
    const { text } = await models.generateContent({
      model: ask.model,
      config,
      contents: [
        { role: 'user', parts: [{ text: ask.contents }] },
        made,
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'get_weather', response: { output: 'mild' } } }],
        },
      ],
    })
    assert.match(text!, /recorded answer/)
    assert.deepEqual(mock.entries().at(-1)!.problems, [])
  })

  test('errors arrive as the client’s own class with status and message, both whole and before a stream', async () => {
    for (const [scenario, status, name] of [
      ['400', 502, 'UNAVAILABLE'], // this message about a wrong key is the gateway's own
      ['404', 404, 'NOT_FOUND'],
      ['429', 429, 'RESOURCE_EXHAUSTED'],
      ['500', 500, 'INTERNAL'],
      ['503', 503, 'UNAVAILABLE'],
      ['401', 502, 'UNAVAILABLE'],
    ] as const)
      for (const attempt of [models.generateContent.bind(models), streamed])
        await assert.rejects(attempt({ ...ask, model: `gemini/scenario-${scenario}` }), (error) => {
          assert.ok(error instanceof ApiError, `${scenario}: ${error}`)
          assert.equal(error.status, status, scenario)
          assert.match(error.message, new RegExp(name))
          return true
        })
    for (const [attempt, status] of [
      [() => clientWith('a-key-of-nobody').models.generateContent(ask), 401],
      [() => models.generateContent({ ...ask, config: { temperature: 3 } }), 400],
    ] as const)
      await assert.rejects(attempt(), (error) => error instanceof ApiError && error.status === status)
  })

  test('an error during a stream, or a broken stream, reaches the client as an error, never as a normal end (GEM-04)', async () => {
    for (const scenario of ['error-in-stream', 'cut-after-3', 'cut-in-utf8', 'reset', 'silent-midway']) {
      let chunks = 0
      await assert.rejects(async () => {
        const stream = await models.generateContentStream({ ...ask, model: `gemini/scenario-${scenario}` })
        for await (const _ of stream) chunks++
      }, scenario)
      assert.ok(chunks > 0, `${scenario}: it had begun`)
      const record = await newestRecord()
      assert.deepEqual([record.state, record.status], ['failed', 200], scenario)
    }
  })

  test('the client reads the whole stream, however its bytes are split, and its usage is on record', async () => {
    for (const scenario of ['per-byte', 'split-utf8', 'split-data', 'comments', 'gzip', 'usage-cached']) {
      const chunks = await streamed({ ...ask, model: `gemini/scenario-${scenario}` })
      const last = chunks.at(-1)!
      assert.equal(last.candidates![0]!.finishReason, 'STOP', scenario)
      const { state, tokens } = await newestRecord()
      const usage = last.usageMetadata!
      assert.deepEqual(
        [state, tokens.input, tokens.cached_input, tokens.output],
        [
          'completed',
          usage.promptTokenCount,
          usage.cachedContentTokenCount ?? null,
          usage.candidatesTokenCount! + (usage.thoughtsTokenCount ?? 0),
        ],
        scenario,
      )
    }
  })

  test('a client can abort during a stream, and the call is recorded as aborted', async () => {
    const left = new AbortController()
    const stream = await models.generateContentStream({
      ...ask,
      model: 'gemini/scenario-lasts-3',
      config: { abortSignal: left.signal },
    })
    await assert.rejects(async () => {
      for await (const _ of stream) left.abort()
    })
    const record = await newestRecord()
    assert.deepEqual([record.state, record.error_code], ['aborted', 'client_closed'])
  })
})
