// Checks of relayed requests and streams.
import { isDeepStrictEqual } from 'node:util'
import { parseExact } from '../../../src/shared/exact-json.ts'
import { type DialectName, delta, END } from '../../dialects/dialect.ts'
import { step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import { each, everything, family } from '../check.ts'

const check = family({ needs: ['messages'], dialect: 'messages', relays: true })

/** Step of a call; `with` is the name of a body in BODIES. */
const known = step<{ with: string; stream: boolean }>('call')

/** Integer that a double cannot hold, as JSON.stringify writes it. */
const LONG = parseExact('9007199254740993')
const LONG_SCHEMA = { type: 'object', properties: { order: { type: 'integer', maximum: LONG } } }

/** Members that dialects share, in addition to their required members. */
const MORE = {
  metadata: { user_id: 'a-user' },
  temperature: 0.5,
  tools: [],
  x_waybill_probe: { deep: [1, null, 'two'] },
}

const CACHED = { cache_control: { type: 'ephemeral' } }
const LONGER = { cache_control: { type: 'ephemeral', ttl: '1h' } }

/** Members that current clients send, especially agents. */
const OF_MESSAGES = {
  'an agent’s turn': {
    max_tokens: 32_000,
    system: [
      { type: 'text', text: 'You know the roads.' },
      { type: 'text', text: 'Answer in one sentence.', ...LONGER },
    ],
    tools: [
      { name: 'find_road', description: 'Finds a road.', input_schema: { type: 'object', properties: {} } },
      { type: 'custom', name: 'find_inn', input_schema: { type: 'object' }, ...CACHED },
    ],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2_048 },
    metadata: { user_id: 'user_1_account__session_2' },
    messages: [
      { role: 'user', content: [{ type: 'text', text: '  Which way?\n\n', ...CACHED }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'find_road', input: { from: 'here', n: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'find_inn', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'north' }],
            ...CACHED,
          },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such inn', is_error: true },
          { type: 'text', text: 'Go on. {nonce}' },
        ],
      },
    ],
  },
  'long numbers': {
    tools: [{ name: 'find_order', input_schema: LONG_SCHEMA }],
    messages: [
      { role: 'user', content: 'Which order?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'find_order', input: { order: LONG } }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' },
          { type: 'text', text: 'Go on. {nonce}' },
        ],
      },
    ],
  },
  sampling: { stop_sequences: ['<<end>>'], top_k: 7, top_p: 0.9, service_tier: 'standard_only' },
  'a system prompt as text': { system: 'You know the roads.' },
  'context management': {
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    output_config: { effort: 'low' },
  },
}

const OF_RESPONSES = {
  'an agent’s turn': {
    instructions: 'You know the roads.',
    reasoning: { effort: 'low', summary: 'auto' },
    text: {
      verbosity: 'low',
      format: { type: 'json_schema', name: 'road', strict: true, schema: { type: 'object', properties: {} } },
    },
    include: ['reasoning.encrypted_content'],
    store: false,
    parallel_tool_calls: false,
    tool_choice: 'auto',
    tools: [
      { type: 'function', name: 'find_road', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'custom', name: 'patch', format: { type: 'text' } },
    ],
    prompt_cache_key: 'a-conversation',
    metadata: { trip: 'one' },
    max_output_tokens: 4_096,
    truncation: 'auto',
    service_tier: 'default',
    safety_identifier: 'a-user',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Go on. {nonce}' },
          { type: 'input_image', detail: 'low', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        ],
      },
    ],
  },
  'long numbers': {
    tools: [{ type: 'function', name: 'find_order', parameters: LONG_SCHEMA, strict: false }],
    x_waybill_probe: LONG,
  },
  'input as one text': { input: 'Go on. {nonce}' },
  sampling: { top_p: 0.9, top_logprobs: 2, user: 'a-user' },
}

/** Bodies sent in each dialect, by subject. */
const BODIES: Readonly<Partial<Record<DialectName, Readonly<Record<string, object>>>>> = {
  messages: { 'unknown fields': MORE, ...OF_MESSAGES },
  responses: { 'unknown fields': MORE, ...OF_RESPONSES },
}

check('DIAL-01', {
  async exercise(session) {
    for (const [what, body] of Object.entries(BODIES[session.dialect.name] ?? {}))
      for (const stream of [false, true])
        await session.chat(known.with({ with: what, stream }), {
          ...{ stream, body, script: [{ scenario: 'plain' }] },
        })
  },
  judge: each(known, ({ exchange, entry, crossed, quoted }) => {
    if (crossed) return []
    const without = (body: unknown) => ({ ...(body as AnyJson), model: null })
    const [got, sent] = [without(entry?.body), without(jsonOf(exchange.request.body ?? ''))]
    const apart = [...new Set([...Object.keys(got), ...Object.keys(sent)])].filter(
      (name) => !isDeepStrictEqual((got as AnyJson)[name], (sent as AnyJson)[name]),
    )
    return {
      'same-body': [
        entry !== null && apart.length === 0,
        `the body that the provider got of ${quoted}`,
        'as it was sent, but for the model',
        entry === null
          ? 'no provider was asked'
          : apart.length > 0
            ? `other in ${apart.join(', ')}`
            : 'the same',
      ],
    }
  }),
})

const unknownParts = step('call')

/** Headers of the dialect with values that no gateway can know. */
const HEADERS = {
  'anthropic-beta': 'waybill-probe-2026-01-01,waybill-other-2026-02-02',
  'anthropic-x-probe': 'one',
  // Version other than the usual one.
  'anthropic-version': '2023-01-01',
  'openai-x-probe': 'two',
  'x-codex-probe': 'three',
}
/** Two query parameters that no gateway can know; one has characters that must be escaped. */
const QUERY = { 'waybill-probe': 'five', other: 'a b&c' }

/** Headers that belong to each dialect. */
const OWN: Readonly<Record<string, readonly (keyof typeof HEADERS)[]>> = {
  messages: ['anthropic-beta', 'anthropic-x-probe', 'anthropic-version'],
  responses: ['openai-x-probe', 'x-codex-probe'],
}

check('DIAL-02', {
  since: 4,
  async exercise(session) {
    session.note('dialect', session.dialect.name)
    await session.chat(unknownParts, {
      ...{ headers: HEADERS, body: { x_waybill_probe: 'four' } },
      query: `?${new URLSearchParams(QUERY)}`,
    })
  },
  judge: each(unknownParts, ({ exchange, entry, crossed, quoted, evidence }) => {
    if (crossed) return []
    // Evidence of earlier runs contains the usual version.
    const sent = { ...HEADERS, 'anthropic-version': exchange.request.headers['anthropic-version'] ?? '' }
    const names = OWN[String(evidence.facts.dialect)]!
    const missing = names.filter((name) => {
      const got = (entry?.headers[name] ?? '').split(/\s*,\s*/)
      return !sent[name].split(',').every((value) => got.includes(value))
    })
    const field = at(entry?.body, '/x_waybill_probe') === 'four'
    const query = new URLSearchParams(entry?.query)
    const lost = Object.entries(QUERY).filter(([name, value]) => query.get(name) !== value)
    return {
      'unknown-parts-arrive': [
        missing.length === 0 && field,
        `what the provider got of ${quoted}`,
        `${names.join(', ')} and the field x_waybill_probe`,
        [...missing, ...(field ? [] : ['x_waybill_probe'])].map((name) => `no ${name}`).join(', ') ||
          'all of them',
      ],
      'unknown-query-arrives': [
        lost.length === 0,
        `the query that the provider got of ${quoted}`,
        String(new URLSearchParams(QUERY)),
        entry?.query || 'none',
      ],
      'credentials-stay': [
        entry?.credential === 'match' && !entry.canaries.some((name) => name.startsWith('key.')),
        'whose key the provider was shown',
        "the gateway's own",
        entry ? [entry.credential, ...entry.canaries].join(', ') : 'none',
      ],
    }
  }),
})

const streams = { call: step<{ scenario: string }>('call'), unknown: step('an event that nobody knows') }

const MYSTERY = { raw: 'event: mystery\ndata: {"type":"mystery","n": 1.0}\n\n' }

check('DIAL-03', {
  async exercise(session) {
    for (const scenario of ['plain', 'tools-parallel', 'reasoning', 'comments', 'pings'])
      await session.chat(streams.call.with({ scenario }), { stream: true, script: [{ scenario }] })
    await session.chat(streams.unknown, { stream: true, script: [{ events: [delta('one'), MYSTERY, END] }] })
  },
  judge: each(everything, ({ exchange, entry, crossed, quoted }) => {
    if (crossed) return []
    const sent = entry?.answer.body ?? ''
    const [got, theirs] = [exchange.body, sent].map((body) => body.split('\n\n'))
    const at = theirs!.findIndex((event, index) => event !== got![index])
    return {
      'same-stream': [
        sent !== '' && exchange.body === sent,
        `the stream of ${quoted}`,
        `the ${sent.length} characters that the provider sent`,
        at < 0
          ? `${exchange.body.length} characters`
          : `event ${at + 1} is ${JSON.stringify(got![at]?.slice(0, 80) ?? null)}`,
      ],
    }
  }),
})
