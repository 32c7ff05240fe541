// Tests which recording answers a request with a given content, over a real socket, with recordings written
// for each case.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { clock } from '../../src/shared/clock.ts'
import { IS_FULL } from '../../src/test/test-size.ts'
import type { Recording } from '../recording/format.ts'
import { mockFor } from '../server/test-mock.ts'
import type { Predicate } from './conversation.ts'
import { createDigester, type Digester } from './digest.ts'

const KEY = 'a digest key of the test, of enough characters'
const NOW = clock.now()
const digester: Digester = createDigester(KEY)

type Message = Readonly<Record<string, unknown>>
const user = (content: string): Message => ({ role: 'user', content })
const system = (content: string): Message => ({ role: 'system', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })
const bodyOf = (messages: readonly Message[], more = {}) => ({ model: 'm', messages, ...more })

/** Recording with a request, with conditions, or with neither of them, as in format 1. */
function recorded(
  answer: string,
  { messages, when, order }: { messages?: Message[]; when?: Predicate; order?: number },
): Recording {
  const bytes = Buffer.from(
    JSON.stringify({ choices: [{ message: { role: 'assistant', content: answer } }] }),
  )
  const said = messages && digester(bodyOf(messages), NOW)!.said
  return {
    name: `openai/${answer}`,
    provider: 'openai',
    endpoint: 'chat/completions',
    request: {
      method: 'POST',
      path: '/v1/chat/completions',
      model: null,
      stream: false,
      scenario: 'plain',
      ...(said && { said }),
      ...(when && { when }),
      ...(order && { order }),
    },
    response: {
      status: 200,
      headers: { 'content-type': 'application/json' },
      chunks: [[bytes.length, 0]],
    },
    bytes,
  } as unknown as Recording
}

async function asking(t: TestContext, recordings: readonly Recording[], options = {}) {
  process.env.WAYBILL_DIGEST_KEY = KEY
  t.after(() => delete process.env.WAYBILL_DIGEST_KEY)
  const mock = await mockFor(t, { recordings, ...options })
  return async (...messages: Message[]): Promise<string> => {
    const response = await fetch(`${mock.baseUrl('openai')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mock.key('openai')}` },
      body: JSON.stringify(bodyOf(messages)),
    })
    const { choices, error } = (await response.json()) as any
    return choices?.[0].message.content ?? `${error.code}: ${error.message}`
  }
}

test('two recordings of the same request with different answers and no order cause an error that names both (REC-06)', async (t) => {
  const messages = [user('twice')]
  const ask = await asking(t, [recorded('one', { messages }), recorded('two', { messages })])
  assert.match(await ask(...messages), /^ambiguous_recording: .* openai\/one, openai\/two\./)
})

test('a 2 MB prompt matches its recording, and a different 2 MB prompt does not (REC-06)', async (t) => {
  const long = 'The tide rises and falls. '.repeat(80_000)
  const ask = await asking(t, [recorded('long', { messages: [user(long)] })])
  assert.equal(await ask(user(long)), 'long')
  assert.match(await ask(user(`${long.slice(0, -3)}?`)), /^no_recording: .{1,1000}$/)
})

const ROUNDS = IS_FULL ? 200 : 4

test('a request that is repeated many times gets the same answer each time (REC-06)', async (t) => {
  t.diagnostic(`${ROUNDS * 50} calls; WAYBILL_TESTS=full makes 10,000`)
  const messages = [user('Are we there yet?')]
  const ask = await asking(t, [recorded('no', { messages }), recorded('other', { messages: [user('?')] })])
  const answers = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++)
    for (const answer of await Promise.all(Array.from({ length: 50 }, () => ask(...messages))))
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
  assert.deepEqual([...answers], [['no', ROUNDS * 50]])
})

const UUIDS = ['11111111-2222-4333-8444-555555555555', '66666666-7777-4888-8999-000000000000']
const about = (id: string) => user(`Read the document ${id}.`)

test('an exact match takes precedence over a match that differs in volatile parts (REC-06)', async (t) => {
  const ask = await asking(t, [
    recorded('first', { messages: [about(UUIDS[0]!)] }),
    recorded('second', { messages: [about(UUIDS[1]!)] }),
  ])
  assert.equal(await ask(about(UUIDS[1]!)), 'second')
  assert.equal(await ask(about(UUIDS[0]!)), 'first')
  assert.match(
    await ask(about('99999999-2222-4333-8444-555555555555')),
    /^ambiguous_recording: .* equally near, and their answers differ: openai\/first, openai\/second\./,
  )
})

test('a repeated request gets its recorded answers in turn, even with other requests in between (REC-03, REC-06)', async (t) => {
  const ask = await asking(t, [
    recorded('once', { messages: [user('again')] }),
    recorded('other', { messages: [user('other')], order: 2 }),
    recorded('twice', { messages: [user('again')], order: 3 }),
  ])
  const answers: string[] = []
  for (const text of ['again', 'other', 'again', 'again']) answers.push(await ask(user(text)))
  assert.deepEqual(answers, ['once', 'other', 'twice', 'twice'])
})

test('a similar recording is used only if similar answers are enabled and its conversation ends in the same way (REC-06)', async (t) => {
  const recordings = [
    recorded('short', { messages: [system('Be short.'), user('one'), assistant('1'), user('why?')] }),
    recorded('long', { messages: [system('Be long.'), user('two'), assistant('2'), user('why?')] }),
  ]
  const exactly = await asking(t, recordings)
  const similarly = await asking(t, recordings, { similar: true })
  const near = [system('Be short.'), user('one'), assistant('One.'), user('why?')]
  assert.match(
    await exactly(...near),
    /^no_recording: .* openai\/short; it differs in part 3, the assistant text "One\."/,
  )
  assert.equal(await similarly(...near), 'short')
  assert.match(
    await similarly(system('Be!'), user('x'), assistant('y'), user('why?')),
    /^ambiguous_recording/,
  )
  assert.match(
    await similarly(system('Be short.'), user('one'), assistant('1'), user('how?')),
    /^no_recording/,
  )
})

const conditions: [string, Predicate, Message[], boolean][] = [
  ['a piece of the last user text', { user: 'weather' }, [user('The weather?')], true],
  [
    'a piece of an earlier user text',
    { user: 'weather' },
    [user('The weather?'), assistant('…'), user('And?')],
    false,
  ],
  ['a pattern', { user: { pattern: '^[A-Z]' } }, [user('Upper')], true],
  ['a pattern that fails', { user: { pattern: '^[A-Z]' } }, [user('lower')], false],
  ['the instructions', { system: 'brief' }, [system('Be brief.'), user('x')], true],
  ['the turn', { turn: 2 }, [user('a'), assistant('b'), user('c')], true],
  ['another turn', { turn: 2 }, [user('a')], false],
  ['the model', { model: 'm' }, [user('a')], true],
  ['another model', { model: 'gpt' }, [user('a')], false],
  ['two conditions, one of which fails', { user: 'a', turn: 3 }, [user('a')], false],
  [
    'the result of a tool',
    { tool_result: 'sunny' },
    [
      user('weather?'),
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'w', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'It is sunny.' },
    ],
    true,
  ],
]
for (const [name, when, messages, isHit] of conditions)
  test(`a recording answers requests that meet its conditions: ${name} (REC-06)`, async (t) => {
    const ask = await asking(t, [recorded('it', { when }), recorded('said', { messages: [user('else')] })])
    const answer = await ask(...messages)
    if (isHit) assert.equal(answer, 'it')
    else assert.match(answer, /^no_recording/)
  })

test('a recorded conversation takes precedence over conditions, and conditions over a turn, but conditions that match in two recordings cause an error (REC-06)', async (t) => {
  const ask = await asking(t, [
    recorded('in turn', {}),
    recorded('condition', { when: { user: 'tide' } }),
    recorded('another condition', { when: { user: 'moon' } }),
    recorded('said', { messages: [user('The tide?')] }),
  ])
  assert.equal(await ask(user('The tide?')), 'said')
  assert.equal(await ask(user('High tide?')), 'condition')
  assert.equal(await ask(user('Anything')), 'in turn')
  assert.match(
    await ask(user('tide and moon')),
    /^ambiguous_recording: .*openai\/condition, openai\/another condition/,
  )
})
