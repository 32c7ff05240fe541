// Properties of every translation to and from the Responses dialect. Conversations come back unchanged.
// Interleaved calls become successive items that the official client can read. Chunk sizes change nothing,
// and a cut stream never looks complete. Over 250 lines, because the properties share the generators of
// conversations and calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import { Losses } from '../../core/losses.ts'
import { EventReader } from '../../providers/event-reader.ts'
import { clock } from '../../shared/clock.ts'
import { unit } from '../../test/test-json-unit.ts'
import { IS_FULL } from '../../test/test-size.ts'
import type { Block, Conversation, Peer, Turn } from '../blocks.ts'
import type { Json } from '../json.ts'
import { DIALECTS } from '../registry.ts'
import { translating } from '../translate.ts'
import { blocks as responses } from './responses.ts'
import { streamOf } from './test-samples.ts'

const RUNS = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 2_000 : 200))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? clock.now() % 2 ** 31)
const options = { numRuns: RUNS, seed: SEED }
const PEER: Peer = { family: 'openai', host: 'localhost', model: 'm', facts: {}, returnsReasoning: true }

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/)
const args = fc
  .dictionary(name, fc.jsonValue({ maxDepth: 1, stringUnit: unit }), { maxKeys: 2 })
  .map((json) => JSON.stringify(json))
const seal = fc
  .record({ id: name, encrypted_content: fc.base64String({ minLength: 4 }) })
  .map((json) => ({ family: 'openai', bytes: JSON.stringify(json) }))

const call = fc.oneof(
  fc.record({ kind: fc.constant('function' as const), name, namespace: fc.option(name), args }),
  fc.record({ kind: fc.constant('custom' as const), name, namespace: fc.constant(null), args: word }),
  fc.record({
    kind: fc.constant('search' as const),
    name: fc.constant('tool_search'),
    namespace: fc.constant(null),
    args,
  }),
)
const image: fc.Arbitrary<Block> = fc.record({
  type: fc.constant('image' as const),
  source: fc.record({
    kind: fc.constant('base64' as const),
    mediaType: fc.constant('image/png'),
    data: fc.base64String({ minLength: 4 }),
  }),
  detail: fc.constantFrom('low', 'high'),
})
const text: fc.Arbitrary<Block> = word.map((text) => ({ type: 'text', text }))

/** An assistant's turn with calls and all their results, or a plain message. */
const exchange: fc.Arbitrary<Turn[]> = fc.oneof(
  fc
    .record({
      role: fc.constantFrom('user' as const, 'developer' as const),
      blocks: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
    })
    .map((turn): Turn[] => [turn]),
  fc
    .record({
      thought: fc.option(fc.record({ text: fc.oneof(word, fc.constant('')), opaque: seal })),
      said: fc.option(word),
      calls: fc.array(fc.tuple(call, fc.oneof(word, fc.constant('')), fc.option(image)), {
        minLength: 1,
        maxLength: 3,
      }),
    })
    .map(({ thought, said, calls }): Turn[] => {
      const made = calls.map(([each, output, picture]) => ({ ...each, id: '', output, picture }))
      return [
        {
          role: 'assistant',
          blocks: [
            ...(thought ? [{ type: 'reasoning' as const, ...thought }] : []),
            ...(said === null ? [] : [{ type: 'text' as const, text: said }]),
            ...made.map(({ output: _, picture: __, ...each }) => ({ type: 'call' as const, ...each })),
          ],
        },
        {
          role: 'user',
          blocks: made.map(({ kind, output, picture }) => ({
            type: 'result' as const,
            id: '',
            error: false,
            blocks:
              kind === 'search'
                ? [{ type: 'text' as const, text: '[]' }]
                : [
                    ...(output === '' ? [] : [{ type: 'text' as const, text: output }]),
                    ...(picture ? [picture] : []),
                  ],
          })),
        },
      ]
    }),
)

/** Assigns unique ids to calls and the same ids to their results. */
function numbered(turns: readonly Turn[]): Turn[] {
  let n = 0
  let first = 0
  return turns.map(({ role, blocks }) => {
    if (role === 'assistant') first = n
    let result = first
    return {
      role,
      blocks: blocks.map((block) =>
        block.type === 'call'
          ? { ...block, id: `call.${n++}` }
          : block.type === 'result'
            ? { ...block, id: `call.${result++}` }
            : block,
      ),
    }
  })
}

const conversation: fc.Arbitrary<Conversation> = fc
  .record({
    turns: fc.array(exchange, { minLength: 1, maxLength: 4 }).map((parts) => numbered(parts.flat())),
    parallel: fc.option(fc.boolean()),
    maxTokens: fc.option(fc.integer({ min: 16, max: 99_999 })),
    effort: fc.option(fc.constantFrom('none', 'low', 'high', 'xhigh')),
    names: fc.uniqueArray(name, { maxLength: 3 }),
  })
  .map(({ turns, parallel, maxTokens, effort, names }) => ({
    turns,
    tools: names.map((name, n) => ({
      kind: n === 1 ? ('custom' as const) : ('function' as const),
      name,
      namespace: null,
      description: n === 2 ? 'x' : null,
      schema: n === 1 ? null : { type: 'object', additionalProperties: false },
      strict: n === 2 ? true : null,
    })),
    choice: null,
    parallel: names.length > 0 ? parallel : null,
    maxTokens,
    stop: [],
    sampling: {
      temperature: null,
      topP: null,
      topK: null,
      seed: null,
      presencePenalty: null,
      frequencyPenalty: null,
    },
    reasoning: { effort, budget: null, on: null },
    format: null,
    user: null,
    extras: [],
  }))

/** Joins consecutive turns with the same role and kind of blocks, which are equivalent to one turn. */
const flat = ({ turns, ...rest }: Conversation): unknown =>
  JSON.parse(
    JSON.stringify({
      ...rest,
      blocks: turns.flatMap(({ role, blocks }) => blocks.map((block) => ({ role, block }))),
    }),
  )

test('a conversation stays the same when it is written as a request and read again (DIAL-04)', () => {
  fc.assert(
    fc.property(conversation, (before) => {
      const losses = new Losses()
      const body = JSON.parse(JSON.stringify(responses.writeRequest(before, PEER, losses))) as Json
      const after = responses.parseRequest(body, { forwarded: [] }, losses)
      assert.deepEqual(losses.list(), [])
      assert.deepEqual(flat(after), flat(before))
    }),
    options,
  )
})

/** Parses events. Only line ends separate lines, because a text may contain other separators. */
const events = (sse: string): any[] =>
  sse.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))

/**
 * Returns the events that a client of `from` reads from a provider's stream in chunks of `size`. Masks ids
 * and times.
 */
function crossed(
  from: 'responses' | 'messages' | 'chat',
  to: 'responses' | 'messages' | 'chat',
  sse: string,
  size: number,
) {
  const translation = translating(DIALECTS[from], DIALECTS[to], {
    family: 'f',
    host: 'localhost',
    factsOf: () => ({}),
  }).translation!()
  const request = JSON.stringify({ model: 'm', input: 'x', messages: [], max_tokens: 99, tools: [] })
  translation.request(
    { model: 'm', stream: true, text: request, wantsUsage: true, forwarded: [], query: '' },
    'm',
    { basePath: '', key: null },
  )
  const reader = new EventReader(translation.openStream())
  const bytes = Buffer.from(sse)
  const parts = []
  for (let at = 0; at < bytes.length; at += size)
    parts.push(...reader.push(Buffer.from(bytes.subarray(at, at + size))))
  parts.push(...reader.rest())
  const done = parts.findIndex(({ parsed }) => parsed?.done)
  const told = done < 0 ? parts : parts.slice(0, done + 1)
  return {
    text: Buffer.concat(told.map((part) => part.bytes))
      .toString('utf8')
      .replace(/_[0-9a-f]{32}/g, '_id')
      .replace(/"created(_at)?":\d+/g, '"created":0'),
    isComplete: told.some(({ parsed }) => parsed?.done || parsed?.complete || parsed?.finished),
  }
}

/** Mixes the parts of several lists. Each list keeps its own order. */
const interleaved = <T>(lists: readonly (readonly T[])[], picks: readonly number[]): T[] => {
  const left = lists.map((list) => [...list])
  const out: T[] = []
  for (let n = 0; left.some((list) => list.length > 0); n++) {
    const open = left.filter((list) => list.length > 0)
    out.push(open[(picks[n % picks.length] ?? 0) % open.length]!.shift()!)
  }
  return out
}
const pieces = (text: string, cut: number): string[] => [text.slice(0, cut), text.slice(cut)]
const calls = fc.array(fc.tuple(args, fc.nat(8)), { minLength: 1, maxLength: 4 })
const picks = fc.array(fc.nat(7), { minLength: 1, maxLength: 20 })
const size = fc.integer({ min: 1, max: 200 })

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

test('interleaved chat tool calls become successive items, for all chunk sizes (RSP-01, RSP-02)', () => {
  fc.assert(
    fc.property(calls, picks, size, fc.option(word), (made, order, chunks, thought) => {
      const begun = made.map((_, index) => ({
        index,
        id: `f:${index}`,
        function: { name: 't', arguments: '' },
      }))
      const parts = interleaved(
        made.map(([args, cut], index) =>
          pieces(args, cut).map((piece) => ({ index, function: { arguments: piece } })),
        ),
        order,
      )
      const sse = [
        ...(thought === null ? [] : [chunk({ reasoning_content: thought })]),
        ...[...begun, ...parts].map((each) => chunk({ tool_calls: [each] })),
        chunk({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ].join('')
      const { text } = crossed('responses', 'chat', sse, chunks)
      assert.equal(text, crossed('responses', 'chat', sse, 1_000_000).text)
      const said = events(text)
      let open: unknown = null
      for (const [n, { type, output_index: at, sequence_number }] of said.entries()) {
        assert.equal(sequence_number, n)
        if (type === 'response.output_item.added') {
          assert.equal(open, null)
          open = at
        } else if (at !== undefined) assert.equal(at, open)
        if (type === 'response.output_item.done') open = null
      }
      // The ids were made equal above. The client accepts equal ids.
      const final: any = said.reduce((snapshot, event) => accumulateResponse(event, snapshot), undefined)
      assert.deepEqual(final.output, said.at(-1).response.output)
      const got = final.output.filter(({ type }: any) => type === 'function_call')
      assert.deepEqual(
        got.map((each: any) => each.arguments),
        made.map(([args]) => args),
      )
    }),
    options,
  )
})

const item = (n: number, args: string) => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `c${n}`,
  name: 't',
  arguments: args,
})

/** Returns interleaved items, sent in parts or, if `whole`, only when done. */
const gpt = (made: readonly (readonly [string, number])[], order: readonly number[], whole: number): string =>
  streamOf(
    { type: 'response.created', response: { model: 'm', status: 'in_progress' } },
    ...interleaved(
      made.map(([args, cut], output_index) => [
        ...(output_index === whole
          ? []
          : [
              { type: 'response.output_item.added', output_index, item: item(output_index, '') },
              ...pieces(args, cut).map((delta) => ({
                type: 'response.function_call_arguments.delta',
                output_index,
                delta,
              })),
            ]),
        { type: 'response.output_item.done', output_index, item: item(output_index, args) },
      ]),
      order,
    ),
    {
      type: 'response.completed',
      response: {
        model: 'm',
        status: 'completed',
        output: made.map(([args], n) => item(n, args)),
        usage: { input_tokens: 1, output_tokens: 2 },
      },
    },
  )

test('interleaved items become ordered blocks in Messages and calls in chat, for all chunk sizes (MSG-03)', () => {
  fc.assert(
    fc.property(calls, picks, size, fc.nat(4), (made, order, chunks, whole) => {
      const sse = gpt(made, order, whole)
      const { text } = crossed('messages', 'responses', sse, chunks)
      assert.equal(text, crossed('messages', 'responses', sse, 1_000_000).text)
      const inputs = new Map<string, string>()
      const ids: string[] = []
      let open = -1
      for (const { type, index, content_block: block, delta } of events(text)) {
        if (type === 'content_block_start') {
          assert.equal(index, open + 1)
          open = index
          ids.push(block.id)
          inputs.set(block.id, '')
        } else if (index !== undefined) assert.equal(index, open)
        if (delta?.partial_json !== undefined)
          inputs.set(ids.at(-1)!, inputs.get(ids.at(-1)!)! + delta.partial_json)
      }
      for (const [n, [args]] of made.entries()) assert.equal(inputs.get(`c${n}`), args)
      const chat = events(crossed('chat', 'responses', sse, chunks).text.replace('data: [DONE]\n\n', ''))
      const joined = new Map<number, string>()
      for (const { choices } of chat)
        for (const { index, function: f } of choices[0]?.delta.tool_calls ?? [])
          joined.set(index, (joined.get(index) ?? '') + (f?.arguments ?? ''))
      assert.deepEqual([...joined.values()].toSorted(), made.map(([args]) => args).toSorted())
    }),
    options,
  )
})

test('a stream that is cut off at any position never looks complete to the client (RSP-03, DIAL-05)', () => {
  fc.assert(
    fc.property(calls, picks, fc.nat(), (made, order, at) => {
      const sse = gpt(made, order, -1)
      const last = sse.lastIndexOf('event: response.completed')
      const cut = sse.slice(0, at % last)
      for (const [from, end] of [
        ['messages', 'message_stop'],
        ['chat', '[DONE]'],
      ] as const) {
        const { text, isComplete } = crossed(from, 'responses', cut, 64)
        assert.ok(!isComplete && !text.includes(end), text.slice(-200))
      }
      const chat = [chunk({ content: 'x' }), chunk({ content: 'y' }), chunk({}, 'stop')].join('')
      const { text } = crossed('responses', 'chat', chat.slice(0, at % chat.lastIndexOf('data:')), 64)
      assert.doesNotMatch(text, /response\.(completed|incomplete)/)
    }),
    options,
  )
})
