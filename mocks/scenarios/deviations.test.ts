// A mock deviates as real providers do: each entry of `deviations/` over a real connection, by its name or by a seed.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { sample } from '../../src/test/test-size.ts'
import { answerText, type Deviation, readDeviations, streamBytes } from '../deviations/read.ts'
import { interceptProviders } from '../server/intercept.ts'
import { mockFor } from '../server/test-mock.ts'
import { DeviationError, type Deviations } from './deviations.ts'

type Mock = Awaited<ReturnType<typeof mockFor>>

const mockWith = (t: TestContext, deviations: Deviations) => mockFor(t, { deviations, keys: 'any' })
const nameOf = ({ dialect, id }: Deviation) => `${dialect}/${id}`
const messages = [{ role: 'user' as const, content: 'Where to?' }]
const contents = [{ role: 'user', parts: [{ text: 'Where to?' }] }]

/** Provider, path and body of a call of each dialect. */
const calls = (model: string, stream: boolean) => ({
  chat: ['openai', '/chat/completions', { model, messages, stream }],
  messages: ['anthropic', '/messages', { model, messages, stream, max_tokens: 100 }],
  responses: ['openai', '/responses', { model, input: 'Where to?', stream }],
  gemini: [
    'gemini',
    `/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    { contents },
  ],
  interactions: ['gemini', '/interactions', { model, input: 'Where to?', stream }],
})

/** Sends a call; returns its head, and its bytes until their end or the end of the connection. */
async function sent(
  { baseUrl }: Pick<Mock, 'baseUrl'>,
  dialect: Deviation['dialect'],
  { model = 'm', stream = true }: { model?: string; stream?: boolean } = {},
) {
  const [provider, path, body] = calls(model, stream)[dialect] as [string, string, object]
  const response = await fetch(baseUrl(provider) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  })
  const pieces: Uint8Array[] = []
  let isCut = false
  try {
    for await (const piece of response.body!) pieces.push(piece)
  } catch {
    isCut = true
  }
  return { status: response.status, headers: response.headers, bytes: Buffer.concat(pieces), isCut }
}

const fromIn = (mock: Pick<Mock, 'entries'>) => mock.entries().map(({ answer }) => answer.from)

test('the mock answers each deviation as its entry says, in the form that was asked for if there is one', async (t) => {
  const all = sample(readDeviations(), 6)
  const mock = await mockWith(
    t,
    all.flatMap((each) => [nameOf(each), nameOf(each)]),
  )
  let seen = 0
  for (const each of all)
    for (const stream of [true, false]) {
      const name = `${nameOf(each)}, asked for ${stream ? 'a stream' : 'a whole answer'}`
      const [events, text] = [streamBytes(each), answerText(each)]
      const isStream = events !== null && (stream || text === null)
      const got = await sent(mock, each.dialect, { stream })
      assert.deepEqual(
        got.bytes.toString('latin1'),
        (isStream ? events : Buffer.from(text!)).toString('latin1'),
        name,
      )
      assert.deepEqual([got.status, got.isCut], [each.status, each.cut], name)
      const headers = { 'content-type': isStream ? 'text/event-stream' : 'application/json', ...each.headers }
      for (const [header, value] of Object.entries(headers))
        assert.equal(got.headers.get(header), value, name)
      const { answer, problems } = mock.entries(seen++)[0]!
      assert.deepEqual([answer.from, problems], [`deviation:${nameOf(each)}`, []], name)
      assert.deepEqual(answer.concludes, each.concludes, name)
    }
})

test('the official clients conclude from a mock that deviates what the ledger says', async (t) => {
  const mock = await mockWith(t, [
    ...[
      'chat/call-with-the-end',
      'chat/word-eos',
      'messages/input-absent-in-start',
      'messages/no-block-stop',
    ],
  ])
  const openai = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: 'any', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: `${mock.url}/anthropic`, apiKey: 'any', maxRetries: 0 })
  for (let call = 0; call < 2; call++) {
    const { choices } = await openai.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
    const { content, tool_calls = [] } = choices[0]!.message
    const calls = tool_calls.flatMap((each) =>
      each.type === 'function'
        ? [{ name: each.function.name, arguments: JSON.parse(each.function.arguments) }]
        : [],
    )
    concludesIn(mock, content ?? '', calls)
  }
  for (let call = 0; call < 2; call++) {
    const message = await anthropic.messages.stream({ model: 'm', messages, max_tokens: 9 }).finalMessage()
    const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const used = message.content.filter((block) => block.type === 'tool_use')
    concludesIn(
      mock,
      text,
      used.map(({ name, input }) => ({ name, arguments: input })),
    )
  }
})

function concludesIn(mock: Mock, text: string, calls: object[]): void {
  const { from, concludes } = mock.entries().at(-1)!.answer
  assert.deepEqual({ text, calls }, { text: concludes!.text, calls: concludes!.calls }, from)
}

test('each call of a dialect gets the next deviation; each test begins with the first', async (t) => {
  const mock = await mockWith(t, ['chat/id-per-fragment', 'messages/no-block-stop', 'chat/word-error'])
  const chat = ['deviation:chat/id-per-fragment', 'deviation:chat/word-error']
  for (let call = 0; call < 3; call++) await sent(mock, 'chat')
  assert.deepEqual(fromIn(mock), [...chat, chat[0]])
  const own = mock.context('own')
  await sent(own, 'chat')
  assert.deepEqual(fromIn(own), [chat[0]])
  mock.clear()
  await sent(mock, 'chat')
  assert.deepEqual(fromIn(mock), [chat[0]])
  await sent(mock, 'gemini')
  assert.doesNotMatch(fromIn(mock)[1]!, /deviation/)
})

test('a seed plays all deviations that are sent to such calls, each once, in an order of its own', async (t) => {
  const orders = await Promise.all(
    [7, 7, 8].map(async (seed) => {
      const mock = await mockWith(t, { seed })
      for (let call = 0; call < 20; call++) await sent(mock, 'chat', { stream: call % 2 === 0 })
      for (const { answer, stream } of mock.entries()) {
        const found = readDeviations().find((each) => `deviation:${nameOf(each)}` === answer.from)!
        const form = stream ? streamBytes(found) : answerText(found)
        assert.ok(
          form !== null || found.status >= 400 || found.ask === (stream ? 'stream' : 'whole'),
          answer.from,
        )
      }
      return fromIn(mock)
    }),
  )
  const [first, same, other] = orders
  assert.deepEqual(first, same)
  assert.notDeepEqual(first, other)
  const streamed = first!.filter((_, call) => call % 2 === 0)
  assert.equal(new Set(streamed).size, streamed.length)
})

test('a deviation is a scenario: by a script, by the model id, and only in its own dialect', async (t) => {
  const mock = await mockFor(t, { keys: 'any' })
  mock.answer({ scenario: 'deviation:chat/word-error' })
  await sent(mock, 'chat')
  const { id } = readDeviations().find(({ dialect }) => dialect === 'gemini')!
  await sent(mock, 'gemini', { model: `scenario-deviation-gemini-${id}` })
  assert.deepEqual(fromIn(mock), ['deviation:chat/word-error', `deviation:gemini/${id}`])
  const other = await sent(mock, 'messages', { model: 'scenario-deviation-chat-word-error' })
  assert.equal(other.status, 400)
  assert.match(other.bytes.toString(), /There is no scenario .*deviation:chat\/word-error/)
})

test('scripts, named scenarios and calls that generate no text take no deviation', async (t) => {
  const mock = await mockWith(t, ['chat/word-error'])
  mock.answer({ say: { text: 'Home.' } })
  assert.match((await sent(mock, 'chat', { stream: false })).bytes.toString(), /Home\./)
  assert.equal((await sent(mock, 'chat', { model: 'scenario-429' })).status, 429)
  const models = await fetch(`${mock.baseUrl('openai')}/models`)
  assert.equal(models.status, 200)
  await sent(mock, 'chat')
  assert.equal(fromIn(mock)[3], 'deviation:chat/word-error')
})

test('the mock deviates within a process, too', async (t) => {
  const interception = interceptProviders({ deviations: ['chat/empty-and-cut'], lenient: true })
  t.after(() => interception.dispose())
  const got = await sent({ baseUrl: () => 'https://api.openai.com/v1' }, 'chat')
  assert.equal(got.isCut, true)
  assert.match(got.bytes.toString(), /half of .*an ans/s)
  assert.equal(interception.entries()[0]!.answer.concludes!.end, 'failed')
})

test('an unknown name is an error that names near ones', async (t) => {
  for (const [name, near] of [
    [
      'chat/id-per-fragmnt',
      /^there is no deviation "chat\/id-per-fragmnt"; near it are chat\/id-per-fragment\b/,
    ],
    ['id-per-fragment', /; near it are chat\/id-per-fragment\b/],
    ['nothing like it', /; `waybill mock --list --json` lists them$/],
  ] as const)
    await assert.rejects(mockWith(t, [name]), (error: Error) => {
      assert.ok(error instanceof DeviationError)
      assert.match(error.message, near)
      return true
    })
})

test('the control port lists the deviations, with what a right reader concludes', async (t) => {
  const mock = await mockFor(t)
  const list = (await (await fetch(`${mock.controlUrl}/deviations`)).json()) as {
    name: string
    concludes: object
  }[]
  assert.equal(list.length, readDeviations().length)
  assert.deepEqual(list.find(({ name }) => name === 'chat/word-error')?.concludes, {
    ...{ text: 'half of ', reasoning: '', calls: [], end: 'failed', usage: 'none', doubt: false },
  })
})
