// Checks of the fields that reach the provider.

import { isDeepStrictEqual } from 'node:util'
import { nonceIn, writeNonce } from '../../../mocks/ledger.ts'
import { ref, refs, servedBy, where } from '../../dialects/lookup.ts'
import { listed, step } from '../../evidence/evidence.ts'
import { at, jsonOf, jsonValue } from '../../evidence/reading.ts'
import { absent, callEach, each, family } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { requestHolds } from '../expect.ts'

const check = family()

/** Fields of OpenAI's chat request, with values other than the defaults. */
const KNOWN = {
  temperature: 0.3,
  top_p: 0.9,
  max_completion_tokens: 321,
  stop: ['<<end>>', '<<stop>>'],
  seed: 4_242,
  presence_penalty: 0.25,
  frequency_penalty: -0.25,
  logit_bias: { '50256': -100 },
  user: 'conformance-user',
  response_format: { type: 'json_object' },
  parallel_tool_calls: false,
  tool_choice: 'required',
  tools: [
    {
      type: 'function',
      function: {
        name: 'find_road',
        description: 'Finds a road.',
        parameters: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] },
      },
    },
  ],
}

/** More fields, sent by agents and newer clients, and messages of every role. */
const FURTHER = {
  service_tier: 'default',
  metadata: { trip: 'one' },
  store: false,
  prompt_cache_key: 'a-conversation',
  safety_identifier: 'conformance-user',
  logprobs: true,
  top_logprobs: 2,
  max_tokens: 654,
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'road', strict: true, schema: { type: 'object', properties: {} } },
  },
  tool_choice: { type: 'function', function: { name: 'find_road' } },
  tools: KNOWN.tools,
}

/** Fields for reasoning models only. Other models refuse these fields, so a gateway may also refuse them. */
const OF_REASONING = { reasoning_effort: 'low', verbosity: 'low' }

/** Fields that a gateway may not know yet. It may leave out an unknown field, but not change it. */
const YOUNG = new Set([
  ...['metadata', 'store', 'service_tier', 'prompt_cache_key', 'safety_identifier'],
  ...Object.keys(OF_REASONING),
])

const FURTHER_MESSAGES = (nonce: string) => [
  { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
  {
    role: 'user',
    name: 'walker',
    content: [
      { type: 'text', text: `What is this? ${writeNonce(nonce)}` },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
    ],
  },
  {
    role: 'assistant',
    content: 'I look twice.',
    tool_calls: ['call_1', 'call_2'].map((id) => ({
      ...{ id, type: 'function', function: { name: 'find_road', arguments: `{"from":"${id}"}` } },
    })),
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'north' },
  { role: 'tool', tool_call_id: 'call_2', content: 'south' },
]

/** Fields that OpenAI's reasoning models refuse, and the pattern of such models' names. */
const SAMPLING = [
  ...['temperature', 'top_p', 'stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'],
  ...['logprobs', 'top_logprobs'],
]
const REASONING = /(^|\/)(o\d|gpt-5)/

const KNOWN_MESSAGES = (nonce: string) => [
  { role: 'system', content: 'You know the roads, and answer in JSON.' },
  { role: 'user', content: [{ type: 'text', text: `Which way? ${writeNonce(nonce)} äöü 🚚 \u2028` }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'find_road', arguments: '{"from":"here"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'north' },
]

/**
 * Returns the meaning of a value. Null members, empty content and `strict: false` equal their absence, one
 * text part equals the text, and arguments are compared as JSON.
 */
function meaningOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const [part, ...more] = value
    return part?.type === 'text' && more.length === 0 ? part.text : value.map(meaningOf)
  }
  if (typeof value !== 'object' || value === null) return value
  const said = Object.entries(value).filter(
    ([name, member]) =>
      member !== null && !(name === 'strict' && member === false) && !(name === 'content' && member === ''),
  )
  return Object.fromEntries(
    said.map(([name, member]) => [
      name,
      name === 'arguments' && typeof member === 'string' ? jsonValue(member) : meaningOf(member),
    ]),
  )
}

/** Renames the system role, because newer models use `developer`. */
const renamed = (key: string, value: unknown): unknown =>
  key === 'role' && value === 'developer' ? 'system' : value

/**
 * Returns the first model that the target file lists for this check's calls. If it lists none, returns the
 * called id.
 */
function firstModel({ model: id, target }: Pick<CheckContext, 'model' | 'target'>): string {
  const { logical, direct } = target.models
  const route = logical.find((each) => each.id === id)
  return route?.targets[0]?.model ?? direct.find((each) => each.id === id)?.model ?? id
}

/** Endpoint of the mock at which the provider's request has the same fields as the client's. */
const HERE = 'chat/completions'

const call = step<{ stream: boolean; further: boolean }>('call')

check('ROUTE-05', {
  async exercise(session) {
    for (const stream of [false, true]) {
      const messages = KNOWN_MESSAGES(session.nonce())
      // Calls once with values other than the defaults, and once with 0, which is also a value.
      const more = stream ? { temperature: 0, stream_options: { include_usage: true } } : {}
      const body = { ...KNOWN, messages, ...more }
      await session.chat(call.with({ stream, further: false }), { stream, body })
      const further = {
        ...FURTHER,
        ...(REASONING.test(firstModel(session)) && OF_REASONING),
        messages: FURTHER_MESSAGES(session.nonce()),
      }
      await session.chat(call.with({ stream, further: true }), { stream, body: further })
    }
  },
  judge: each(call, ({ exchange, quoted, evidence, waybill }) => {
    const body = jsonOf(exchange.request.body ?? '') as Record<string, unknown>
    const entry = servedBy(evidence, { nonce: nonceIn(exchange.request.body ?? '') })
    if (!entry)
      return {
        'request-arrives': [false, `a request with the messages of ${quoted}`, 'one at the mock', 'none'],
      }
    // Some models accept tools only in the Responses dialect, and a gateway may know this.
    if (entry.endpoint !== HERE)
      return [
        absent('fields-arrive', `The call was translated for ${where(entry)} (${entry.endpoint}).`, [
          ref(exchange),
          ref(entry),
        ]),
      ]
    const asked = JSON.parse(JSON.stringify(body), renamed) as Record<string, unknown>
    const fields = Object.keys(asked).filter((name) => name !== 'model' && name !== 'stream_options')
    const got = JSON.parse(JSON.stringify(entry.body), renamed)
    const arrived = (name: string) => meaningOf(at(got, `/${name}`))
    const lost = fields.filter((name) => !isDeepStrictEqual(arrived(name), meaningOf(asked[name])))
    // `stream: false` is the default and may be left out. A token limit has an older and a newer name.
    const LIMITS = ['max_tokens', 'max_completion_tokens']
    const renames = (name: string) =>
      LIMITS.includes(name) && LIMITS.some((other) => arrived(other) === asked[name])
    // Reasoning models refuse these fields; a gateway may leave them out, but not change them.
    const spared = (name: string) =>
      SAMPLING.includes(name) && arrived(name) === undefined && REASONING.test(entry.model ?? '')
    const isUnknown = (name: string) => YOUNG.has(name) && arrived(name) === undefined
    const notAsAsked = lost.filter(
      (name) =>
        !(name === 'stream' && asked.stream === false && !entry.stream) && !renames(name) && !spared(name),
    )
    const changed = notAsAsked.filter((name) => !isUnknown(name))
    const young = notAsAsked.filter(isUnknown)
    // Only Waybill must avoid unknown fields that the provider tolerates.
    const invalid = entry.problems.filter((problem) => waybill || !problem.startsWith('unknown field'))
    return {
      'fields-arrive': [
        changed.length === 0,
        `of ${fields.length} fields of ${quoted}, those that were changed or lost`,
        'none',
        listed(changed),
        refs(exchange, entry),
      ],
      'young-fields-arrive': {
        advice: [
          young.length === 0,
          `young fields of ${quoted} that were lost`,
          'none',
          listed(young),
          refs(exchange, entry),
        ],
      },
      'request-is-valid': [
        invalid.length === 0,
        `the request of ${quoted} by the provider's schema`,
        'valid',
        invalid.join('; ') || 'valid',
        refs(entry),
      ],
    }
  }),
})

const unknownField = step<{ stream: boolean }>('call')

/** Value of a field that no gateway can know. */
const UNKNOWN = { deep: [1, null, 'two'], flag: false }

check('ROUTE-06', {
  exercise: callEach(unknownField, { stream: [false, true] }, ({ stream }) => ({
    stream,
    body: { x_waybill_probe: UNKNOWN },
  })),
  judge: each(unknownField, (looked) =>
    requestHolds('unknown-fields-arrive', '/x_waybill_probe', { equals: UNKNOWN }, looked),
  ),
})
