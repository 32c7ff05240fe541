// The opening by which `sticky: prefix` recognises a conversation, in each dialect.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestTraits } from '../core/request-traits.ts'
import { ChatTraits } from './chat/client.ts'
import { GeminiTraits } from './gemini/client.ts'
import { InteractionTraits } from './interactions/client.ts'
import { MessagesTraits } from './messages/client.ts'
import { ResponsesTraits } from './responses/client.ts'

type Body = Readonly<Record<string, unknown>>
type Turn = readonly [role: string, text: string]
const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const schema = { type: 'object', properties: { source: { type: 'string', description: 'the source' } } }
const chat = (turns: readonly Turn[]) => turns.map(([role, content]) => ({ role, content }))

const DIALECTS: Readonly<
  Record<
    string,
    {
      traits: new (body: Body) => RequestTraits
      body: (system: string, turns: readonly Turn[], tool: string) => Body
    }
  >
> = {
  chat: {
    traits: ChatTraits,
    body: (system, turns, name) => ({
      messages: chat([['system', system], ...turns]),
      tools: [{ type: 'function', function: { name, parameters: schema } }],
    }),
  },
  messages: {
    traits: MessagesTraits,
    body: (system, turns, name) => ({
      system: [{ type: 'text', text: system, ...mark }],
      messages: chat(turns),
      tools: [{ name, input_schema: schema }],
    }),
  },
  responses: {
    traits: ResponsesTraits,
    body: (instructions, turns, name) => ({
      instructions,
      input: turns.map(([role, text]) => ({
        type: 'message',
        role,
        content: [{ type: 'input_text', text }],
      })),
      tools: [{ type: 'function', name, parameters: schema }],
    }),
  },
  gemini: {
    traits: GeminiTraits,
    body: (system, turns, name) => ({
      systemInstruction: { parts: [{ text: system }] },
      contents: turns.map(([role, text]) => ({ role, parts: [{ text }] })),
      tools: [{ functionDeclarations: [{ name, parameters: schema }] }],
    }),
  },
  interactions: {
    traits: InteractionTraits,
    body: (system_instruction, turns, name) => ({
      system_instruction,
      input: turns.map(([role, text]) => ({
        type: role === 'user' ? 'user_input' : 'model_output',
        content: [{ type: 'text', text }],
      })),
      tools: [{ type: 'function', name, parameters: schema }],
    }),
  },
}

for (const [name, { traits: Traits, body }] of Object.entries(DIALECTS))
  test(`${name}: a growing conversation keeps its opening; different tools, instructions or first words change the opening`, () => {
    const opening = (system: string, tool: string, ...turns: Turn[]) =>
      new Traits(body(system, turns, tool)).opening
    const first = opening('be brief', 'look', ['user', 'hello'])
    assert.equal(opening('be brief', 'look', ['user', 'hello'], ['assistant', 'hi'], ['user', 'more']), first)
    assert.notEqual(opening('be long', 'look', ['user', 'hello']), first)
    assert.notEqual(opening('be brief', 'find', ['user', 'hello']), first)
    assert.notEqual(opening('be brief', 'look', ['user', 'goodbye']), first)
  })

test('moving the cache hint, or converting a string to a block with the hint, does not change the opening', () => {
  const opening = (content: unknown, tool = {}) =>
    new MessagesTraits({ messages: [{ role: 'user', content }], tools: [{ name: 'look', ...tool }] }).opening
  const first = opening([{ type: 'text', text: 'hello', ...mark }], mark)
  assert.equal(opening([{ type: 'text', text: 'hello' }]), first)
  assert.equal(opening('hello'), first)
})

test('a Responses request with text input and a request without messages both have an opening', () => {
  const { opening } = new ResponsesTraits({ input: 'hello' })
  assert.equal(opening, new ResponsesTraits({ input: [{ role: 'user', content: 'hello' }] }).opening)
  for (const { traits: Traits } of Object.values(DIALECTS)) {
    assert.equal(typeof new Traits({}).opening, 'string')
    assert.equal(typeof new Traits({ messages: [null, 7], input: [null], contents: [7] }).opening, 'string')
  }
})

test('a request of any nesting depth has an opening', () => {
  let deep: unknown = 'end'
  for (let n = 0; n < 100_000; n++) deep = { items: [deep] }
  assert.match(new ChatTraits({ messages: [{ role: 'user', content: 'x' }], tools: deep }).opening, /end/)
})
