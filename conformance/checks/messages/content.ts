// Checks of the Messages dialect: tool calls, thoughts, files, the system prompt, and the tokens on record.
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, readAnswer } from '../../dialects/lookup.ts'
import { endText, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { callEach, each, everything, family } from '../check.ts'
import { recordAfter, tokensOnRecord } from '../log/parts.ts'
import { blocksIn, message } from '../responses/parts.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const toolCall = step<{ model: string; stream: boolean }>('call')

const CALLS = [
  { id: 'call_1', name: 'nothing', arguments: {} },
  { id: 'call_2', name: 'much', arguments: { deep: [{ text: 'naïve "café" \\ 🙂', none: null }] } },
]

check('MSG-04', {
  timeout: 60_000,
  exercise: callEach(toolCall, { model: modelsOf, stream: [false, true] }, ({ model, stream }) => ({
    model,
    stream,
    script: [{ say: { calls: CALLS } }],
  })),
  judge: each(toolCall, ({ exchange, quoted }) => {
    const { tools } = readAnswer(exchange)
    const got = tools.map((tool) => [tool.name, jsonOf(tool.arguments)])
    // Input must be complete or empty: clients keep the member unchanged until a delta arrives.
    const inputs = blocksIn(exchange.body)
      .filter(({ type }) => type === 'tool_use')
      .map(({ input }) => input)
    return {
      'input-is-an-object': [
        inputs.length > 0 && inputs.every((input) => typeof input === 'object' && input !== null),
        `the member input of the calls of ${quoted}`,
        'an object each, if only {}',
        JSON.stringify(inputs),
      ],
      'input-is-whole': [
        isDeepStrictEqual(
          got,
          CALLS.map((each) => [each.name, each.arguments]),
        ),
        `the calls of ${quoted}`,
        'the two that the model made, the first without arguments',
        JSON.stringify(got),
      ],
    }
  }),
})

const thoughts = {
  told: step<{ stream: boolean }>('thoughts are told'),
  redacted: step('redacted thoughts are told'),
  returned: step('thoughts are returned'),
}

const THOUGHTS = [
  { type: 'thinking', thinking: 'first  this,\n then that', signature: 'c2lnbmVk/+==' },
  { type: 'redacted_thinking', data: 'c2VhbGVk/+==' },
]
const SAID = { type: 'text', text: 'said' }
const ANSWER = message({ content: [...THOUGHTS, SAID] })

/** Returns blocks without optional members of a text, such as `citations: null`. */
const bare = (blocks: unknown): unknown =>
  Array.isArray(blocks)
    ? blocks.map((block) => (block?.type === 'text' ? { type: 'text', text: block.text } : block))
    : blocks

check('MSG-05', {
  relays: true,
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(thoughts.told.with({ stream }), { stream, script: [{ scenario: 'reasoning' }] })
    await session.chat(thoughts.redacted, { script: [{ body: ANSWER }] })
    await session.chat(thoughts.returned, {
      body: {
        messages: [
          { role: 'user', content: 'Think.' },
          { role: 'assistant', content: [...THOUGHTS, SAID] },
          { role: 'user', content: 'Go on. {nonce}' },
        ],
      },
    })
  },
  judge: each(everything, ({ exchange, entry, crossed, quoted }) => {
    const back = exchange.step === thoughts.returned.step
    if (crossed) return []
    const [got, sent] = back
      ? [at(entry?.body, '/messages/1/content'), [...THOUGHTS, SAID]]
      : [blocksIn(exchange.body), blocksIn(entry?.answer.body ?? '')]
    return {
      [back ? 'thoughts-go-back' : 'thoughts-are-unchanged']: [
        isDeepStrictEqual(bare(got), bare(sent)) && (sent as unknown[]).length > 1,
        `the blocks of ${quoted}`,
        JSON.stringify(sent),
        JSON.stringify(got) ?? 'none',
      ],
    }
  }),
})

const fileInResult = step<{ model: string; what: string }>('a tool returns a file')

/** One white pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
/** First bytes of a PDF document without pages. */
const PAGES = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>',
).toString('base64')

const FILES: Readonly<Record<string, { data: string; block: object }>> = {
  image: {
    data: PIXEL,
    block: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
  },
  document: {
    data: PAGES,
    block: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PAGES } },
  },
}

/** Returns all texts in a request that a model reads as words, in each dialect. */
function texts(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /^(text|content|output|arguments|instructions)$/.test(name) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  const named = Array.isArray(value) ? value.map((each) => [name, each] as const) : Object.entries(value)
  return named.flatMap(([key, each]) => texts(each, key))
}

check('MSG-17', {
  since: 4,
  async exercise(session) {
    const calls = modelsOf(session).flatMap((model) => Object.keys(FILES).map((what) => ({ model, what })))
    for (const { model, what } of calls)
      await session.chat(fileInResult.with({ model, what }), {
        model,
        body: {
          tools: [{ name: 'look', input_schema: { type: 'object' } }],
          messages: [
            { role: 'user', content: 'Look.' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: 'toolu_1', content: [FILES[what]!.block] },
                { type: 'text', text: 'What is it? {nonce}' },
              ],
            },
          ],
        },
      })
  },
  judge: each(fileInResult, ({ exchange, details, entry, quoted, waybill }) => {
    const { data } = FILES[details.what] ?? FILES.image!
    const asText = texts(entry?.body).some((text) => text.includes(data))
    const arrived = JSON.stringify(entry?.body ?? null).includes(data)
    const named = /tool_result\.media|document/.test(exchange.headers['x-gateway-lossy'] ?? '')
    return {
      'image-is-no-text': [
        !asText,
        `what the model of ${quoted} reads as words`,
        'no bytes of the file',
        asText ? 'the bytes of the file' : 'none',
      ],
      'image-arrives-or-is-named': waybill && [
        entry !== null && (arrived || named),
        `the file of ${quoted}`,
        'at the provider, or named as lost',
        `${endText(exchange)}, ${arrived ? 'at the provider' : 'not at the provider'}`,
      ],
    }
  }),
})

/**
 * Step with one call for each model. The prompt begins with a line that names the client, and has a part to
 * cache.
 */
const callPerModel = step<{ model: string }>('call')

const LINE = 'x-anthropic-billing-header: cc_version=2.0.0; cc_entrypoint=cli;'
const CACHE = { type: 'ephemeral', ttl: '1h' }

check('MSG-18', {
  async exercise(session) {
    const system = [
      { type: 'text', text: LINE },
      { type: 'text', text: 'Be brief.', cache_control: CACHE },
    ]
    for (const model of modelsOf(session))
      await session.chat(callPerModel.with({ model }), { model, body: { system } })
  },
  judge: each(callPerModel, ({ entry, crossed, quoted }) => {
    const got = at(entry?.body, '/system/1/cache_control')
    const there = JSON.stringify(entry?.body ?? null).includes('cache_control')
    return {
      'cache-control-goes-home-only': [
        entry !== null && (crossed ? !there : isDeepStrictEqual(got, CACHE)),
        `cache_control in the provider's request of ${quoted}`,
        crossed ? 'none, it speaks another dialect' : JSON.stringify(CACHE),
        JSON.stringify(got) ?? (there ? 'somewhere else' : 'none'),
      ],
    }
  }),
})

check('MSG-19', {
  shares: 'MSG-18',
  judge: each(callPerModel, ({ entry, crossed, quoted }) => {
    const there = JSON.stringify(entry?.body ?? null).includes(LINE)
    return {
      'client-line-goes-home-only': [
        entry !== null && there !== crossed,
        `the line that names the client, in the provider's request of ${quoted}`,
        crossed ? 'none, it speaks another dialect' : 'as it was sent',
        there ? 'as it was sent' : 'none',
      ],
    }
  }),
})

const whole = step<{ usage: keyof typeof REPORTED }>('call')

/** Usage reported by the provider, and the expected record. */
const REPORTED = {
  'with a cache': {
    usage: {
      ...{ input_tokens: 10, output_tokens: 5 },
      ...{ cache_read_input_tokens: 40, cache_creation_input_tokens: 30 },
    },
    tokens: { input: 80, cached_input: 40, cache_write: 30, output: 5 },
  },
  'without a cache': {
    usage: { input_tokens: 10, output_tokens: 5 },
    tokens: { input: 10, cached_input: null, cache_write: null, output: 5 },
  },
} as const

check('MSG-07', {
  needs: ['messages', 'record'],
  relays: true,
  exercise: callEach(
    whole,
    { usage: Object.keys(REPORTED) as (keyof typeof REPORTED)[] },
    ({ usage }) => ({ script: [{ body: message({ usage: REPORTED[usage].usage }) }] }),
    recordAfter,
  ),
  judge: each(whole, ({ exchange, details, evidence }) =>
    tokensOnRecord('cache-is-input-and-apart', evidence, exchange, REPORTED[details.usage].tokens),
  ),
})

const streamed = step<{ last: keyof typeof LAST }>('stream')

const FIRST = { input_tokens: 10, cache_read_input_tokens: 40, output_tokens: 1 }
/** Usage in the last event, and the expected record. */
const LAST = {
  'tells the output': { usage: { output_tokens: 7 }, output: 7 },
  'tells all again': { usage: { ...FIRST, output_tokens: 7 }, output: 7 },
  'tells nothing': { usage: undefined, output: null },
} as const

const event = (type: string, more: object) => ({
  raw: `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`,
})

const stream = (usage: object | undefined) => [
  event('message_start', { message: message({ content: [], stop_reason: null, usage: FIRST }) }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'said' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }),
  event('message_stop', {}),
]

check('MSG-09', {
  needs: ['messages', 'record'],
  relays: true,
  exercise: callEach(
    streamed,
    { last: Object.keys(LAST) as (keyof typeof LAST)[] },
    ({ last }) => ({ stream: true, script: [{ events: stream(LAST[last].usage) }] }),
    recordAfter,
  ),
  judge: each(streamed, ({ exchange, details, evidence }) =>
    tokensOnRecord('usage-is-merged', evidence, exchange, {
      ...{ input: 50, cached_input: 40 },
      output: LAST[details.last].output,
    }),
  ),
})
