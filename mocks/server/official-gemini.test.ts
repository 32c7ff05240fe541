// Tests the official `@google/genai` client against the mock, over a real socket: the client works as with
// the real provider.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ApiError, FunctionCallingConfigMode, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import { useClock } from '../../src/shared/clock.ts'
import { manualClock } from '../../src/shared/test-clock.ts'
import { createMockProviders } from './create.ts'

const mock = await createMockProviders()
test.after(() => mock.close())
const clientWith = (apiKey: string) =>
  new GoogleGenAI({
    apiKey,
    httpOptions: { baseUrl: `${mock.url}/gemini`, retryOptions: { attempts: 1 } },
  })
const { models } = clientWith(mock.key('gemini'))

const ask = { model: 'gemini-3.8-flash', contents: 'Where to?' }
const tools = [
  {
    functionDeclarations: [
      {
        name: 'get_weather',
        parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  },
]
const config = { tools, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } } }

/** Returns all chunks of a streamed answer. */
async function streamed(request: Parameters<typeof models.generateContentStream>[0]) {
  const chunks: GenerateContentResponse[] = []
  for await (const chunk of await models.generateContentStream(request)) chunks.push(chunk)
  return chunks
}

test('a text arrives with its usage', async () => {
  const { text, usageMetadata, candidates, modelVersion } = await models.generateContent(ask)
  assert.match(text!, /recorded answer/)
  assert.equal(candidates![0]!.finishReason, 'STOP')
  const { promptTokenCount, candidatesTokenCount, totalTokenCount } = usageMetadata!
  assert.equal(totalTokenCount, promptTokenCount! + candidatesTokenCount!)
  assert.equal(modelVersion, 'gemini-3.8-flash')
})

test('the client reads a stream with lines that end in CR and LF', async () => {
  const chunks = await streamed(ask)
  assert.equal(chunks.length, 5)
  assert.match(chunks.map(({ text }) => text).join(''), /Viele Grüße/)
  assert.equal(chunks.at(-1)!.usageMetadata!.candidatesTokenCount, 22)
})

test('one or two function calls arrive, whole and streamed, and the mock answers their results', async () => {
  for (const [model, cities] of [
    ['gemini-3.8-flash', ['Hamburg']],
    ['scenario-tools-parallel', ['Hamburg', 'Oslo']],
  ] as const) {
    const whole = await models.generateContent({ ...ask, model, config })
    const chunks = await streamed({ ...ask, model, config })
    for (const calls of [whole.functionCalls, chunks.flatMap(({ functionCalls }) => functionCalls ?? [])])
      assert.deepEqual(
        calls,
        cities.map((city) => ({ name: 'get_weather', args: { city, unit: 'celsius' } })),
      )
  }
  const called = await models.generateContent({ ...ask, config })
  const { text } = await models.generateContent({
    model: ask.model,
    config,
    contents: [
      { role: 'user', parts: [{ text: ask.contents }] },
      called.candidates![0]!.content!,
      { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { output: 'mild' } } }] },
    ],
  })
  assert.match(text!, /recorded answer/)
})

test('thoughts and text arrive as different parts, whole and streamed', async () => {
  const request = {
    ...ask,
    model: 'scenario-reasoning',
    config: { thinkingConfig: { includeThoughts: true } },
  }
  const whole = await models.generateContent(request)
  for (const parts of [
    whole.candidates![0]!.content!.parts!,
    (await streamed(request)).flatMap(({ candidates }) => candidates![0]!.content!.parts!),
  ]) {
    assert.ok(parts[0]!.thought)
    assert.match(
      parts
        .filter(({ thought }) => !thought)
        .map(({ text }) => text)
        .join(''),
      /^Recorded as well/,
    )
  }
  assert.equal(whole.usageMetadata!.thoughtsTokenCount, 52)
})

test('the client handles cached tokens, truncation at the token limit, and odd chunk boundaries', async () => {
  const cached = await models.generateContent({ ...ask, model: 'scenario-usage-cached' })
  assert.equal(cached.usageMetadata!.cachedContentTokenCount, 1920)
  const cut = await models.generateContent({ ...ask, model: 'scenario-finish-length' })
  assert.equal(cut.candidates![0]!.finishReason, 'MAX_TOKENS')
  const both = await streamed({ ...ask, model: 'scenario-finish-tool-calls' })
  assert.deepEqual(
    both.flatMap(({ functionCalls }) => functionCalls ?? []),
    [{ name: 'get_weather', args: { city: 'Vienna' } }],
  )
  for (const model of ['scenario-per-byte', 'scenario-split-utf8', 'scenario-split-data'])
    assert.match((await streamed({ ...ask, model })).map(({ text }) => text).join(''), /naïve café 🙂/, model)
})

test('tokens are counted without an inference, and models are listed', async () => {
  assert.equal((await models.countTokens(ask)).totalTokens, 9)
  assert.equal(mock.entries().at(-1)!.kind, 'token_count')
  const names: (string | undefined)[] = []
  for await (const { name } of await models.list()) names.push(name)
  assert.ok(names.includes('models/gemini-3.8-flash'))
})

test("an error has Google's status and words", async () => {
  for (const [status, name] of [
    [400, 'INVALID_ARGUMENT'],
    [403, 'PERMISSION_DENIED'],
    [404, 'NOT_FOUND'],
    [429, 'RESOURCE_EXHAUSTED'],
    [500, 'INTERNAL'],
    [503, 'UNAVAILABLE'],
  ] as const) {
    const model = `scenario-${status}`
    for (const attempt of [
      () => models.generateContent({ ...ask, model }),
      () => streamed({ ...ask, model }),
    ])
      await assert.rejects(attempt, (error) => {
        assert.ok(error instanceof ApiError, `${status}: ${error}`)
        assert.equal(error.status, status)
        assert.match(error.message, new RegExp(name))
        return true
      })
  }
})

test('an invalid request or a wrong key gets a 400', async () => {
  const tooHot = await models.generateContent({ ...ask, config: { temperature: 3 } }).catch((error) => error)
  assert.ok(tooHot instanceof ApiError)
  assert.equal(tooHot.status, 400)
  assert.match(tooHot.message, /Invalid value at 'generationConfig\.temperature'/)
  const stranger = await clientWith('a-key-of-nobody')
    .models.generateContent(ask)
    .catch((error) => error)
  assert.ok(stranger instanceof ApiError)
  assert.equal(stranger.status, 400)
  assert.match(stranger.message, /API_KEY_INVALID/)
})

test('the client raises an error if a stream breaks', async () => {
  await assert.rejects(streamed({ ...ask, model: 'scenario-cut-after-3' }))
})

const { interactions } = clientWith(mock.key('gemini'))
const input = 'Where to?'
const model = 'gemini-3.8-flash'
const isMissing = { status: 404 }

test('a stored interaction can be read, continued and deleted, whole and streamed, by the key that made it', async () => {
  const whole = await interactions.create({ model, input })
  let streamed = ''
  for await (const event of await interactions.create({ model, input, stream: true }))
    if (event.event_type === 'interaction.created') streamed = event.interaction.id
  const again = await interactions.create({ model, input })
  assert.equal(new Set([whole.id, streamed, again.id]).size, 3)
  const other = mock.context('other').key('gemini')
  for (const id of [whole.id, streamed]) {
    const read = await interactions.get(id, { include_input: true })
    assert.equal(read.status, 'completed')
    assert.match(JSON.stringify(read.steps), /"thought".*recorded/)
    assert.equal(read.input, input)
    await assert.rejects(clientWith(other).interactions.get(id), isMissing)
    assert.equal(
      (await interactions.create({ model, input, previous_interaction_id: id })).status,
      'completed',
    )
    await interactions.delete(id)
    await assert.rejects(interactions.get(id), isMissing)
    await assert.rejects(interactions.create({ model, input, previous_interaction_id: id }), isMissing)
  }
  const unkept = await interactions.create({ model, input, store: false })
  await assert.rejects(interactions.get(unkept.id), isMissing)
})

test('an interaction in the background ends after two reads or a cancellation, and reads are no inference', async () => {
  const since = mock.entries().length
  const job = await interactions.create({ model, input, background: true })
  assert.deepEqual(job.steps, [])
  const statuses = [job.status]
  for (const _ of [1, 2]) statuses.push((await interactions.get(job.id)).status)
  assert.deepEqual(statuses, ['in_progress', 'in_progress', 'completed'])
  await assert.rejects(interactions.cancel(job.id), { status: 400 })
  const other = await interactions.create({ model, input, background: true })
  assert.equal((await interactions.cancel(other.id)).status, 'cancelled')
  assert.deepEqual((await interactions.get(other.id)).steps, [])
  await assert.rejects(interactions.create({ model, input, background: true, store: false }), { status: 400 })
  const kinds = mock
    .entries()
    .slice(since)
    .map(({ kind }) => kind)
  assert.equal(kinds.filter((kind) => kind === 'inference').length, 3)
})

test('a stored interaction expires', async (t) => {
  const { id } = await interactions.create({ model, input })
  const clock = manualClock()
  t.after(useClock(clock))
  await clock.advance(54 * 24 * 3_600_000)
  await interactions.get(id)
  await clock.advance(2 * 24 * 3_600_000)
  await assert.rejects(interactions.get(id), isMissing)
})

test("an error of an interaction has a word as its code, and a stream's steps keep their order", async () => {
  const refused = await fetch(`${mock.url}/gemini/v1beta/interactions`, {
    ...{ method: 'POST', headers: { 'x-goog-api-key': mock.key('gemini') } },
    body: JSON.stringify({ model: 'scenario-429', input }),
  })
  assert.equal(((await refused.json()) as any).error.code, 'too_many_requests')
  const types: string[] = []
  for await (const event of await interactions.create({
    model: 'scenario-tools-parallel',
    input,
    stream: true,
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  }))
    if (event.event_type === 'step.start') types.push(event.step.type)
  assert.deepEqual(types, Array(3).fill('function_call'))
})
