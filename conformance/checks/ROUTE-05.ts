// ROUTE-05: The known OpenAI fields reach the provider with their values, except `model` and `stream_options`; the
// forwarded request is valid by the provider's schema.
import { isDeepStrictEqual } from 'node:util'
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { type Check, finding } from '../check.ts'
import { ref, refs } from '../lookup.ts'
import { at, jsonOf, withoutSpace } from '../reading.ts'
import { inWords, step } from '../step.ts'
import { listed } from '../words.ts'

/** Fields of OpenAI's chat request with values that no default has. */
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

/** What a reasoning model of OpenAI does not take, and how such a model is called. */
const SAMPLING = ['temperature', 'top_p', 'stop', 'presence_penalty', 'frequency_penalty', 'logit_bias']
const REASONING = /^(o\d|gpt-5)/

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
 * What a value says: a member that is null, or a tool that is not strict, is as good as none, one part of text as good
 * as the text, and arguments are JSON.
 */
function meaningOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const [part, ...more] = value
    return part?.type === 'text' && more.length === 0 ? part.text : value.map(meaningOf)
  }
  if (typeof value !== 'object' || value === null) return value
  const said = Object.entries(value).filter(
    ([name, member]) => member !== null && !(name === 'strict' && member === false),
  )
  return Object.fromEntries(
    said.map(([name, member]) => [
      name,
      name === 'arguments' && typeof member === 'string' ? withoutSpace(member) : meaningOf(member),
    ]),
  )
}

const call = step<{ stream: boolean }>('call')

export const knownFields = {
  id: 'ROUTE-05',
  async exercise(session) {
    for (const stream of [false, true]) {
      const messages = KNOWN_MESSAGES(session.nonce())
      // Once with values that no default has, once with a 0, which is a value too.
      const more = stream ? { temperature: 0, stream_options: { include_usage: true } } : {}
      const body = { ...KNOWN, messages, ...more }
      await session.chat(call.with({ stream }), { stream, body })
    }
  },
  judge: ({ evidence, waybill }) =>
    call.in(evidence).flatMap((exchange) => {
      const asked = jsonOf(exchange.request.body ?? '') as Record<string, unknown>
      const entry = evidence.ledger.find(({ nonce }) => nonce === nonceIn(exchange.request.body ?? ''))
      if (!entry)
        return [
          finding(
            'request-arrives',
            false,
            `a request with the messages of "${inWords(exchange)}"`,
            { expected: 'one at the witness', actual: 'none' },
            [ref(exchange)],
          ),
        ]
      const fields = Object.keys(asked).filter((name) => name !== 'model' && name !== 'stream_options')
      // They are told as a developer what others are told as a system.
      const renamed = (key: string, value: unknown): unknown =>
        key === 'role' && value === 'developer' && REASONING.test(entry.model ?? '') ? 'system' : value
      const got = JSON.parse(JSON.stringify(entry.body), renamed)
      const arrived = (name: string) => meaningOf(at(got, `/${name}`))
      const lost = fields.filter((name) => !isDeepStrictEqual(arrived(name), meaningOf(asked[name])))
      // `stream: false` may be left out: it is the default. And a limit of tokens may go by its older name.
      const older = (name: string) =>
        name === 'max_completion_tokens' && arrived('max_tokens') === asked[name]
      // Reasoning models refuse these; a gateway that knows it may leave them out, not change them.
      const spared = (name: string) =>
        SAMPLING.includes(name) && arrived(name) === undefined && REASONING.test(entry.model ?? '')
      const changed = lost.filter(
        (name) =>
          !(name === 'stream' && asked.stream === false && !entry.stream) && !older(name) && !spared(name),
      )
      // What the provider lets pass is for this interface's own gateway to avoid.
      const invalid = entry.problems.filter((problem) => waybill || !problem.startsWith('unknown field'))
      return [
        finding(
          'fields-arrive',
          changed.length === 0,
          `of ${fields.length} fields of "${inWords(exchange)}", those that were changed or lost`,
          { expected: 'none', actual: listed(changed) },
          refs(exchange, entry),
        ),
        finding(
          'request-is-valid',
          invalid.length === 0,
          `the request of "${inWords(exchange)}" by the provider's schema`,
          { expected: 'valid', actual: invalid.join('; ') || 'valid' },
          refs(entry),
        ),
      ]
    }),
} satisfies Check
