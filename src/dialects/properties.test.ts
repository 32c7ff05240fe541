// Properties of translation, for random conversations and streams and every pair of dialects. Content comes back
// unchanged, or its loss is named. Official clients can read streams of interleaved calls. A cut stream never ends as
// a success. The sizes of chunks change nothing. Over 250 lines, because the properties share the generators of
// conversations and answers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Stream as AnthropicStream } from '@anthropic-ai/sdk/core/streaming'
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import fc from 'fast-check'
import { Stream as OpenAiStream } from 'openai/core/streaming'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import { Losses } from '../core/losses.ts'
import { IS_FULL } from '../test/test-size.ts'
import type { Block, CallBlock, Conversation, SerialEvent, Turn } from './blocks.ts'
import { compareRequests } from './test-comparison.ts'
import { asBlocks, crossed, crossStream, dialectOf, PAIRS, peer, readStream } from './test-crossing.ts'

const RUNS = IS_FULL ? 1_000 : 60

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom('Grüße 👋', 'a\n\nb', '"}', '\\', '\u2028'),
)
const some = text.filter((each) => each.trim() !== '')
const id = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/),
  fc.constantFrom('functions.Bash:0', 'wb_x', 'ü', 'call|1'),
)
const args = fc.oneof(
  fc.constant(''),
  fc
    .dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(text, fc.integer(), fc.boolean()), { maxKeys: 3 })
    .map((json) => JSON.stringify(json)),
  fc.constant('{"n":18446744073709551616,"x":1.0}'),
)
const NAMES = ['Bash', 'Read', 'get_weather'] as const
const name = fc.constantFrom(...NAMES)
const image = fc.constantFrom<Block>(
  { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'QUJD' } },
  { type: 'image', source: { kind: 'url', url: 'https://example.org/a.png' } },
  { type: 'document', source: { kind: 'base64', mediaType: 'application/pdf', data: 'QUJD' }, name: 'a.pdf' },
)
const words = some.map((each): Block => ({ type: 'text', text: each }))
const thought = fc.record({
  type: fc.constant('reasoning' as const),
  text: some,
  opaque: fc.constantFrom(null, { family: 'other', bytes: 'c2VhbA==' }),
})
const call = fc.record({
  type: fc.constant('call' as const),
  id,
  name,
  namespace: fc.constant(null),
  kind: fc.constant('function' as const),
  args,
})

/** A question, an answer with calls, and the results of all calls. */
const exchange = fc
  .record({
    question: fc.array(fc.oneof(words, image), { minLength: 1, maxLength: 3 }),
    thoughts: fc.array(thought, { maxLength: 1 }),
    said: fc.array(words, { maxLength: 1 }),
    calls: fc.uniqueArray(call, { maxLength: 3, selector: (each) => each.id }),
    results: fc.array(
      fc.record({
        blocks: fc.array(fc.oneof(words, image), { minLength: 1, maxLength: 2 }),
        error: fc.boolean(),
      }),
      { minLength: 3, maxLength: 3 },
    ),
  })
  .map(({ question, thoughts, said, calls, results }): Turn[] => {
    const answer: Block[] = [
      ...thoughts,
      ...(said.length + calls.length > 0 ? said : [{ type: 'text' as const, text: 'x' }]),
      ...calls,
    ]
    const returned = calls.map((each, n): Block => ({ type: 'result', id: each.id, ...results[n]! }))
    const turns: Turn[] = [
      { role: 'user', blocks: question },
      { role: 'assistant', blocks: answer },
    ]
    return returned.length > 0 ? [...turns, { role: 'user', blocks: returned }] : turns
  })

const conversation: fc.Arbitrary<Conversation> = fc.record({
  turns: fc
    .tuple(fc.array(some, { maxLength: 2 }), fc.array(exchange, { minLength: 1, maxLength: 3 }), words)
    .map(([system, turns, last]) => [
      ...system.map((each): Turn => ({ role: 'system', blocks: [{ type: 'text', text: each }] })),
      ...turns.flat(),
      { role: 'user' as const, blocks: [last] },
    ]),
  tools: fc.constant(
    NAMES.map((each) => ({
      kind: 'function' as const,
      name: each,
      namespace: null,
      description: 'd',
      schema: { type: 'object' },
      strict: null,
    })),
  ),
  choice: fc.constantFrom(
    null,
    { type: 'auto' as const },
    { type: 'required' as const },
    { type: 'none' as const },
    { type: 'tool' as const, name: 'Bash', namespace: null },
  ),
  parallel: fc.constantFrom(null, false),
  maxTokens: fc.constantFrom(50_000, 60_000),
  stop: fc.array(some, { maxLength: 6 }),
  sampling: fc.record({
    temperature: fc.constantFrom(null, 0, 0.5, 1, 1.7),
    topP: fc.constantFrom(null, 0.9),
    topK: fc.constantFrom(null, 40),
    seed: fc.constantFrom(null, 7),
    presencePenalty: fc.constantFrom(null, 0.5),
    frequencyPenalty: fc.constantFrom(null, 0.5),
  }),
  reasoning: fc.record({
    effort: fc.constantFrom(null, 'none', 'low', 'high', 'max'),
    budget: fc.constantFrom(null, 2_000),
    on: fc.constant(null),
  }),
  format: fc.constantFrom(
    null,
    { type: 'json' as const },
    { type: 'schema' as const, name: 'a', schema: { type: 'object' }, strict: true },
  ),
  user: fc.constant(null),
  extras: fc.constant([]),
})

for (const [from, to] of PAIRS)
  test(`${from} to ${to} and back: any conversation stays the same, or its losses are named (DIAL-04)`, () => {
    fc.assert(
      fc.property(conversation, (asked) => {
        const json = dialectOf(from).blocks.writeRequest(asked, peer('other'), new Losses())
        const there = crossed(from, to, { request: json, family: 'other' })
        const back = crossed(to, from, { request: there.sent, family: 'other' })
        const losses = [...there.translation.losses, ...back.translation.losses]
        const findings = compareRequests(asBlocks(from, json), asBlocks(from, back.sent), losses)
        assert.deepEqual(
          findings.filter(({ result }) => result === 'silent'),
          [],
        )
      }),
      { numRuns: RUNS },
    )
  })

const usage = {
  source: 'reported' as const,
  input: 12,
  output: 7,
  cached_input: 3,
  cache_write: null,
  reasoning: null,
}
interface Said {
  readonly before: string
  readonly calls: readonly Pick<CallBlock, 'id' | 'name' | 'args'>[]
}
const said: fc.Arbitrary<Said> = fc.record({
  before: text,
  calls: fc.uniqueArray(call, { minLength: 1, maxLength: 4, selector: (each) => each.id }),
})

/** Returns a dialect's stream, written block by block by its own writer. */
function written(dialect: string, { before, calls }: Said): Buffer {
  const writer = dialectOf(dialect).blocks.openWriter({ wantsUsage: true }, new Losses())
  const events: SerialEvent[] = [{ type: 'start', id: null, model: 'm' }]
  const blocks: Block[] = [
    ...(before === '' ? [] : [{ type: 'text' as const, text: before }]),
    ...calls.map((each) => ({ ...each, type: 'call' as const, namespace: null, kind: 'function' as const })),
  ]
  for (const [index, block] of blocks.entries()) {
    const open =
      block.type === 'call'
        ? { type: 'call' as const, id: block.id, name: block.name, namespace: null, kind: block.kind }
        : { type: 'text' as const }
    events.push({ type: 'open', index, block: open })
    for (const piece of (block.type === 'call' ? block.args : (block as { text: string }).text).match(
      /[\s\S]{1,4}/gu,
    ) ?? [])
      events.push({ type: 'delta', index, block: open, text: piece })
    events.push({ type: 'close', index, block: open })
  }
  events.push({ type: 'end', stop: 'calls', sequence: null, tokens: usage })
  return Buffer.from(events.map((each) => writer.write(each)).join(''))
}

/** Returns a chat stream with interleaved parts of calls. `picks` decides the order. */
function interleaved({ before, calls }: Said, picks: readonly number[]): Buffer {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const waiting = calls.map(({ id, name, args }, index) => [
    { index, id, type: 'function', function: { name, arguments: '' } },
    ...(args.match(/[\s\S]{1,4}/gu) ?? []).map((piece) => ({ index, function: { arguments: piece } })),
  ])
  const lengths = waiting.map(({ length }) => length)
  let out = chunk({ role: 'assistant', content: before })
  for (let n = 0; waiting.some((each) => each.length > 0); n++) {
    // A call begins only after all earlier calls have begun.
    const last = waiting.findIndex((each, index) => each.length === lengths[index])
    const open = waiting.filter((each, index) => each.length > 0 && (last < 0 || index <= last))
    out += chunk({ tool_calls: [open[(picks[n % picks.length] ?? 0) % open.length]!.shift()] })
  }
  return Buffer.from(
    `${out}${chunk({}, 'tool_calls')}data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 7 } })}\n\ndata: [DONE]\n\n`,
  )
}

const parsed = ({ calls }: Said) => calls.map(({ name, args }) => [name, args === '' ? {} : JSON.parse(args)])
const inEvents = (bytes: Buffer) => new Response(new Uint8Array(bytes))

test('Anthropic’s client reads interleaved calls in any order, one block at a time (MSG-02, MSG-03, MSG-04)', async () => {
  await fc.assert(
    fc.asyncProperty(said, fc.array(fc.nat(9), { minLength: 1, maxLength: 40 }), async (each, picks) => {
      const { bytes } = crossStream('messages', 'chat', interleaved(each, picks))
      const [checked, read] = AnthropicStream.fromSSEResponse<any>(
        inEvents(bytes) as never,
        new AbortController(),
      ).tee()
      let open: number | null = null
      let next = 0
      for await (const event of checked) {
        if (event.type === 'content_block_start') {
          assert.deepEqual([open, event.index], [null, next++])
          open = event.index
        } else if (event.type === 'content_block_delta') assert.equal(event.index, open)
        else if (event.type === 'content_block_stop') open = null
      }
      const message = await MessageStream.fromReadableStream(read.toReadableStream()).finalMessage()
      const calls = message.content.flatMap((block) =>
        block.type === 'tool_use' ? [[block.name, block.input]] : [],
      )
      assert.deepEqual(calls, parsed(each))
      assert.equal(
        message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
        each.before,
      )
      assert.deepEqual(
        [message.stop_reason, message.usage.input_tokens, message.usage.output_tokens],
        ['tool_use', 12, 7],
      )
    }),
    { numRuns: RUNS },
  )
})

test('OpenAI’s client reads any calls that were translated from the Messages dialect', async () => {
  await fc.assert(
    fc.asyncProperty(said, async (each) => {
      const { bytes } = crossStream('chat', 'messages', written('messages', each))
      const stream = OpenAiStream.fromSSEResponse<any>(inEvents(bytes) as never, new AbortController())
      const { choices, usage } = await ChatCompletionStream.fromReadableStream(
        stream.toReadableStream(),
      ).finalChatCompletion()
      const { message, finish_reason } = choices[0]!
      const calls = message.tool_calls!.map((made) => (made as any).function)
      assert.deepEqual(
        calls.map((made) => [made.name, JSON.parse(made.arguments)]),
        parsed(each),
      )
      assert.deepEqual(
        [message.content ?? '', finish_reason, usage?.prompt_tokens],
        [each.before, 'tool_calls', 12],
      )
    }),
    { numRuns: RUNS },
  )
})

/** Returns true if the stream ended. Gemini has no end mark; its last event has the finish reason. */
const isEnded = ({ done, stop }: ReturnType<typeof readStream>): boolean => done || stop !== null

/** Masks ids and times, which differ in each answer. */
const masked = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replace(/(msg|chatcmpl|resp|item|rs|fc|call|ctc|v1)[-_](wb_)?[0-9a-f]{20,}/g, 'ID')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/"(created|created_at|updated)":(\d+|"[^"]*")/g, '')

for (const [client, provider] of PAIRS)
  test(`${provider} to a ${client} client: chunk sizes do not change the answer, and a cut stream never looks complete (DIAL-05)`, () => {
    fc.assert(
      fc.property(
        said,
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (each, size, at) => {
          const bytes = written(provider, each)
          const whole = crossStream(client, provider, bytes)
          assert.equal(masked(crossStream(client, provider, bytes, { size }).bytes), masked(whole.bytes))
          assert.ok(isEnded(readStream(client, whole.bytes)))
          const { stop } = readStream(provider, bytes.subarray(0, Math.floor(bytes.length * at)))
          const cut = crossStream(client, provider, bytes.subarray(0, Math.floor(bytes.length * at)))
          if (stop === null) assert.equal(isEnded(readStream(client, cut.bytes)), false)
        },
      ),
      { numRuns: RUNS },
    )
  })
