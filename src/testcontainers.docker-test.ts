// `waybill/testcontainers` as its users meet it: containers of the real image on the real engine.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import OpenAI from 'openai'
import { ownRecordings } from '../mocks/recording.ts'
import { docker, image, noEngine } from './image-under-test.ts'
import { WaybillContainer } from './testcontainers.ts'
import { temporaryDirectory } from './under-test.ts'

const question = { model: 'auto', messages: [{ role: 'user' as const, content: 'where to?' }] }

test('a container answers from recordings without key or configuration, and tells where calls went', {
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

test('withKeys, withConfig, withRecordings: a key is asked for, the routes and the recordings are the given ones', {
  skip: noEngine,
}, async (t) => {
  const recordings = temporaryDirectory(t)
  cpSync(ownRecordings, recordings, { recursive: true })
  for (const provider of readdirSync(recordings))
    if (provider !== 'groq') rmSync(join(recordings, provider), { recursive: true })
  const waybill = await new WaybillContainer(image)
    .withKeys()
    .withRecordings(recordings)
    .withConfig({
      providers: {
        groq: { api: 'openai', base_url: 'https://api.groq.com/openai/v1', key: '$GROQ_API_KEY' },
        openai: { api: 'openai', base_url: 'https://api.openai.com/v1' },
      },
      routes: { auto: { targets: [{ model: 'openai/gpt-5-mini' }, { model: 'groq/openai/gpt-oss-120b' }] } },
    })
    .start()
  t.after(() => waybill.stop())
  const ask = (apiKey: string) =>
    new OpenAI({ baseURL: waybill.baseUrl, apiKey, maxRetries: 0 }).chat.completions.create(question)
  await assert.rejects(ask('another'), { status: 401 })
  await ask(waybill.apiKey)
  const [call] = await waybill.requestLogs()
  assert.equal(call!.resolved_provider, 'groq', 'there is no recording of openai, so it fell back')
  assert.equal(call!.key_name, 'test')
})

test('a container that cannot start says what the gateway printed, and is not left lying', {
  skip: noEngine,
}, async () => {
  const [name, value] = ['waybill.test', randomUUID()]
  const container = new WaybillContainer(image)
    .withConfig({ routes: 'nowhere' })
    .withLabels({ [name]: value })
  await assert.rejects(container.start(), /The container printed:\n.*waybill\.yaml:1:\d+ routes: /s)
  assert.equal(await docker('ps', '--all', '--quiet', '--filter', `label=${name}=${value}`), '')
})
