// `waybill/testcontainers` as users run it: containers of the real image on a real engine.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import OpenAI from 'openai'
import { Network } from 'testcontainers'
import { writeNonce } from '../../mocks/ledger.ts'
import { ownRecordings } from '../../mocks/recording/format.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { docker, image, noEngine } from '../test/test-image.ts'
import { MockContainer, WaybillContainer } from './library.ts'

const question = { model: 'auto', messages: [{ role: 'user' as const, content: 'where to?' }] }

test('a container answers from recordings without a key or configuration, and reports where calls went', {
  skip: noEngine,
}, async (t) => {
  const waybill = await new WaybillContainer(image).start()
  t.after(() => waybill.stop())
  const client = new OpenAI({ baseURL: waybill.baseUrl, apiKey: waybill.apiKey })
  const answer = await client.chat.completions.create(question)
  assert.equal(answer.object, 'chat.completion')
  const calls = await waybill.requestLogs()
  assert.equal(calls.length, 1)
  assert.equal(calls[0]!.resolved_provider, 'openai')
  assert.equal(calls[0]!.state, 'completed')
  assert.deepEqual(await waybill.requestLogs({ provider: 'groq' }), [])
  await assert.rejects(waybill.requestLogs({ nonsense: '1' }), /The request log answered 400: .*nonsense/)
})

test('a container with keys, configuration and recordings requires a key and uses the given routes and recordings', {
  skip: noEngine,
}, async (t) => {
  const recordings = temporaryDirectory(t)
  cpSync(ownRecordings, recordings, { recursive: true })
  const body = join(recordings, 'openai/chat-reasoning.body.json')
  writeFileSync(body, readFileSync(body, 'utf8').replace('"gpt-6-luna"', '"gpt-6-mine"'))
  const waybill = await new WaybillContainer(image)
    .withKeys()
    .withRecordings(recordings)
    .withConfig({
      providers: {
        openai: { dialect: 'openai', base_url: 'https://api.openai.com/v1', key: '$OPENAI_API_KEY' },
      },
      routes: { auto: { strategy: 'weighted', targets: [{ model: 'openai/gpt-6-luna' }] } },
    })
    .start()
  t.after(() => waybill.stop())
  const ask = (apiKey: string) =>
    new OpenAI({ baseURL: waybill.baseUrl, apiKey, maxRetries: 0 }).chat.completions.create(question)
  await assert.rejects(ask('another'), { status: 401 })
  await ask(waybill.apiKey)
  const [call] = await waybill.requestLogs()
  assert.equal(call!.strategy, 'weighted')
  assert.equal(call!.response_model, 'gpt-6-mine')
  assert.equal(call!.key_name, 'test')
})

test("a container that cannot start reports the gateway's output and is removed", {
  skip: noEngine,
}, async () => {
  const [name, value] = ['waybill.test', randomUUID()]
  const container = new WaybillContainer(image)
    .withConfig({ routes: 'nowhere' })
    .withLabels({ [name]: value })
  await assert.rejects(container.start(), /The container printed:\n.*waybill\.yaml:1:\d+ routes: /s)
  assert.equal(await docker('ps', '--all', '--quiet', '--filter', `label=${name}=${value}`), '')
})

test('with a gateway and a mock on one network, the record matches the received requests (LOG-07)', {
  skip: noEngine,
}, async () => {
  await using network = await new Network().start()
  await using mock = await new MockContainer(image).withNetwork(network).withNetworkAliases('mock').start()
  await using waybill = await new WaybillContainer(image)
    .withNetwork(network)
    .withLiveProviders({ OPENAI_API_KEY: mock.key('openai') })
    .withConfig({
      providers: {
        openai: { dialect: 'openai', base_url: mock.networkUrl('openai'), key: '$OPENAI_API_KEY' },
      },
      routes: { auto: { targets: [{ model: 'openai/gpt-5-mini' }] } },
    })
    .start()
  const client = new OpenAI({ baseURL: waybill.baseUrl, apiKey: waybill.apiKey })
  const nonce = '0123456789abcdef'
  await mock.script(nonce, [
    { events: [{ data: spoken('first') }, { gate: 'go' }, { data: spoken('second') }, { data: '[DONE]' }] },
  ])

  const messages = [{ role: 'user' as const, content: writeNonce(nonce) }]
  const stream = await client.chat.completions.create({ model: 'auto', messages, stream: true })
  const words: unknown[] = []
  for await (const { choices } of stream) {
    words.push(choices[0]?.delta.content)
    if (words.length === 1) await mock.release('go')
  }

  assert.deepEqual(words, ['first', 'second'])
  const { entries } = await mock.ledger()
  assert.deepEqual(
    entries.map(({ nonce, provider, model, credential }) => ({ nonce, provider, model, credential })),
    [{ nonce, provider: 'openai', model: 'gpt-5-mini', credential: 'match' }],
  )
  const calls = await waybill.requestLogs()
  assert.deepEqual(
    calls.map(({ resolved_provider, resolved_model, attempts }) => [
      resolved_provider,
      resolved_model,
      attempts,
    ]),
    [['openai', 'gpt-5-mini', 1]],
  )
  assert.deepEqual((await mock.ledger(entries[0]!.n)).entries, [])
  await assert.rejects(mock.script('no nonce', []), /The mock refused PUT /)
  assert.throws(() => mock.key('nobody'), /The mock has no provider "nobody", only openai, /)
  const direct = new OpenAI({ baseURL: mock.baseUrl('groq'), apiKey: mock.key('groq') })
  assert.equal((await direct.chat.completions.create({ ...question, model: 'x' })).object, 'chat.completion')
})

/** One event of a stream, in OpenAI's format. */
const spoken = (content: string) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'gpt-5-mini',
  choices: [{ index: 0, delta: { content }, finish_reason: content === 'second' ? 'stop' : null }],
})
