import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { chat } from '../dialects/chat.ts'
import { step } from '../evidence/evidence.ts'
import { targetSchema } from '../target/schema.ts'
import { CheckContext } from './context.ts'

/** Makes a call to a gateway that streams the given parts when the test asks for them. */
async function streamed(t: TestContext) {
  const asked = Promise.withResolvers<ServerResponse>()
  const server = createServer((_, response) => asked.resolve(response)).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const session = new CheckContext({
    check: 'TEST-01',
    target: targetSchema.parse({
      name: 'made',
      start: { url },
      providers: { openai: {} },
      models: { direct: [{ id: 'm', provider: 'openai', model: 'm' }] },
    }),
    dialect: chat,
    running: { baseUrl: url, keys: {} } as never, // the parts that a call reads
    mock: {} as never, // there is no provider
    secrets: new Map(),
    another: async () => assert.fail('no other instance is asked for'),
  })
  const call = await session.openChat(step('call'), { stream: true })
  const response = await asked.promise
  const send = (delta: object) =>
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`)
  return { call, response, send }
}

test('the word "ten" counts as received if the text contains it, but not if it is only part of the member name "content"', async (t) => {
  const { call, response, send } = await streamed(t)
  send({ role: 'assistant', content: '' })
  assert.ok(await call.until((body) => body.includes('ten'), 5_000), 'the name of the member is there')
  assert.equal(await call.says('ten', 100), false)
  send({ content: 'nine ' })
  send({ content: 't' })
  const said = call.says('ten')
  send({ content: 'en' })
  assert.equal(await said, true)
  response.destroy()
})

test('waiting for a word ends when the connection closes', async (t) => {
  const { call, response, send } = await streamed(t)
  send({ content: 'nine' })
  await call.says('nine')
  const said = call.says('ten', 60_000)
  response.destroy()
  assert.equal(await said, false)
})
