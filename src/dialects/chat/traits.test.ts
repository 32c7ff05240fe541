import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ChatTraits } from './client.ts'

const part = (type: string) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, { type }] }],
})

const ROWS: readonly [string, object, Partial<ChatTraits>][] = [
  [
    'plain text',
    { messages: [{ role: 'user', content: 'hi' }] },
    { tools: false, images: false, effort: null },
  ],
  ['tools', { tools: [{ type: 'function' }] }, { tools: true }],
  ['functions, as they once were called', { functions: [{ name: 'f' }] }, { tools: true }],
  ['no tools in the list', { tools: [], functions: null }, { tools: false }],
  ['an image', part('image_url'), { images: true }],
  ['an image in the words of other dialects', part('input_image'), { images: true }],
  ['sound is no image', part('input_audio'), { images: false }],
  ['an effort', { reasoning_effort: 'high' }, { effort: 'high' }],
  ['an effort inside', { reasoning: { effort: 'low' } }, { effort: 'low' }],
  ['an effort that is none', { reasoning_effort: 3, reasoning: 'deep' }, { effort: null }],
]

for (const [name, body, expected] of ROWS)
  test(`reads the traits of a request with ${name}`, () => {
    const traits = new ChatTraits(body as Record<string, unknown>)
    for (const [key, value] of Object.entries(expected)) assert.equal(traits[key as keyof ChatTraits], value)
  })

test('token estimates count messages and tools, but ignore images and the rest of the body', () => {
  const words = 'the quick brown fox jumps over the lazy dog '.repeat(100)
  const tokens = (body: Record<string, unknown>) => new ChatTraits(body).inputTokens
  const plain = tokens({ messages: [{ role: 'user', content: words }] })
  assert.ok(plain >= 850 && plain <= 1_000, `${plain} tokens for 900 words`)
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
  const pictured = tokens({
    user: words,
    messages: [{ role: 'user', content: [{ type: 'text', text: words }, image] }],
  })
  assert.ok(pictured - plain < 20, `${pictured}`)
  const tool = { type: 'function', function: { name: 'f', description: words, parameters: {} } }
  assert.ok(tokens({ messages: [{ role: 'user', content: words }], tools: [tool] }) > 1.9 * plain)
})

test('a long text is estimated quickly from samples, with an error below 2% if the text is uniform', () => {
  const words = 'const answer = await fetch(url); // where this request ends, the log will say\n'
  const tokens = (times: number) =>
    new ChatTraits({ messages: [{ role: 'user', content: words.repeat(times) }] }).inputTokens
  const perLine = tokens(400) / 400
  assert.ok(Math.abs(tokens(100_000) / 100_000 / perLine - 1) < 0.02)
})

test('the traits of any body can be read', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('messages', 'tools', 'functions', 'reasoning'), fc.jsonValue()),
      (body) => {
        const { tools, images, inputTokens } = new ChatTraits(body)
        assert.deepEqual([typeof tools, typeof images], ['boolean', 'boolean'])
        assert.ok(Number.isSafeInteger(inputTokens) && inputTokens >= 0)
      },
    ),
    { numRuns: 1_000 },
  )
  const deep = JSON.parse(`${'['.repeat(100_000)}"word"${']'.repeat(100_000)}`)
  assert.equal(new ChatTraits({ messages: deep }).inputTokens, 1)
})
