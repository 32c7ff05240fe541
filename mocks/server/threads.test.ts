// Tests conversations that Anthropic's mock stores between turns, over a real socket and with the official
// client.
import assert from 'node:assert/strict'
import { beforeEach, suite, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { createMockProviders } from './create.ts'

const mock = await createMockProviders({ keys: 'any' })
test.after(() => mock.close())
suite('threads of Anthropic’s mock', () => {
  beforeEach(() => mock.clear())

  const clientOf = (apiKey: string) =>
    new Anthropic({ baseURL: `${mock.url}/anthropic`, apiKey, maxRetries: 0 })
  const client = clientOf('key-of-one')
  const NONCE = '00000000000000a1'
  const user = (content: string) => ({ role: 'user' as const, content })
  const ask = { model: 'claude-haiku-4-5', max_tokens: 64 }
  const send = (thread: object, more: object = {}, by = client) =>
    by.beta.messages.create({
      ...ask,
      messages: [user('and then?')],
      thread,
      ...more,
    } as never) as Promise<any>

  const weather = betaTool({
    name: 'get_weather',
    description: 'The weather in a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: () => 'sunny',
  })

  for (const stream of [false, true])
    test(`a tool runner completes its loop by continuing its thread (stream ${stream})`, async () => {
      const called = { id: 'toolu_1', name: 'get_weather', arguments: { city: 'Bern' } }
      mock.script(NONCE, [{ say: { calls: [called] } }, { say: { text: 'Sunny in Bern.' } }])
      const runner = client.beta.messages.toolRunner({
        ...ask,
        messages: [user(`waybill-nonce-${NONCE}: the weather in Bern?`)],
        tools: [weather],
        stream,
      })
      const final: any = await runner.runUntilDone()
      assert.equal(final.content[0].text, 'Sunny in Bern.')
      const entries = mock.entries()
      assert.deepEqual(
        entries.map(({ nonce, problems, body }: any) => [
          nonce,
          problems,
          body.thread.type,
          body.messages.length,
        ]),
        [
          [NONCE, [], 'create', 1],
          [NONCE, [], 'continue', 1],
        ],
        'the nonce of the first turn counts, and only the new turn was sent',
      )
      assert.equal((entries[1]!.body as any).tools, undefined)
    })

  test('an unknown thread, or one that belongs to another credential, gets 404', async () => {
    const { id } = await send({ type: 'create' })
    const unknown = { type: 'continue', previous_message_id: 'msg_of_no_thread' }
    const foreign = { type: 'continue', previous_message_id: id }
    for (const asked of [send(unknown), send(foreign, {}, clientOf('key-of-two'))])
      await assert.rejects(asked, (error: any) => {
        assert.equal(error.status, 404)
        assert.deepEqual(error.error.error.details, { error_code: 'thread_not_found' })
        return true
      })
    assert.equal((await send(foreign)).type, 'message')
  })

  test('a message can be continued only once, and a turn that repeats the thread’s content is refused', async () => {
    const { id } = await send({ type: 'create' }, { system: 'Be brief.' })
    const thread = { type: 'continue', previous_message_id: id }
    const code = (error: any) => error.error.error.details.error_code
    const changed = await send(thread, { system: 'Be long.' }).catch(code)
    const failed = await send(thread, { model: 'scenario-529' }).catch(({ status }) => status)
    const next = await send(thread)
    const again = await send(thread).catch(code)
    assert.deepEqual(
      [changed, failed, again],
      ['thread_fingerprint_mismatch', 529, 'thread_already_continued'],
    )
    assert.notEqual(next.id, id)
  })

  test('a cut stream leaves no thread to continue', async () => {
    const cut = await fetch(`${mock.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': 'key-of-one',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        ...ask,
        model: 'scenario-cut-after-4',
        stream: true,
        messages: [user('x')],
        thread: { type: 'create' },
      }),
    })
    const reader = cut.body!.getReader()
    let text = ''
    await assert.rejects(async () => {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) throw new Error('it ended')
        text += Buffer.from(value)
      }
    })
    const id = /"id":"(msg_[^"]+)"/.exec(text)![1]
    await assert.rejects(send({ type: 'continue', previous_message_id: id }), Anthropic.NotFoundError)
  })
})
