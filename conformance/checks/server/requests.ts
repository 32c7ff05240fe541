// Checks of the requests that a model server refuses, and of the features that it may offer.

import type { DialectName } from '../../dialects/dialect.ts'
import { dialectOf, readAnswer, ref } from '../../dialects/lookup.ts'
import { type Exchange, endText, listed, step } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf } from '../../evidence/reading.ts'
import { modelListSchema } from '../catalog.ts'
import { callEach, each, type Finding, family, finding } from '../check.ts'
import type { CheckContext } from '../context.ts'
import {
  ANSWER_TIMEOUT_MS,
  answered,
  cutByLimit,
  FORM,
  FORM_TOKENS,
  fitsForm,
  isNotOffered,
  isTokenCount,
  jsonIn,
  malformed,
  notOffered,
  post,
  small,
} from './parts.ts'

const check = family()

const bad = {
  malformed: step<{ body: string }>('malformed'),
  unknown: step('unknown model'),
  afterwards: step('afterwards'),
}

/** Returns a malformed body that costs at most one token if the server accepts it. */
function withLimit(body: string, { dialect }: CheckContext): string {
  if (dialect.limit === null || !body.includes('"model":') || !body.endsWith('}')) return body
  return JSON.stringify({ ...JSON.parse(body), [dialect.limit]: 1 })
}

check('SRV-03', {
  async exercise(session) {
    for (const [name, body] of Object.entries(malformed(session)))
      await post(session, bad.malformed.with({ body: name }), withLimit(body, session))
    await session.chat(bad.unknown, {
      model: 'no-such-model',
      body: session.limit(1),
      timeout: ANSWER_TIMEOUT_MS,
    })
    await session.chat(bad.afterwards, { body: small(session, false, 1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: [
    each(bad.malformed, ({ exchange, details }) => {
      const { isError, errorShape } = dialectOf(exchange)
      const what = `the answer to a body that is ${details.body}`
      return {
        'malformed-is-4xx': [
          exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
          what,
          'a 4xx',
          endText(exchange),
        ],
        'has-the-shape-of-errors': {
          advice: [isError(exchange.body), what, errorShape, exchange.body.slice(0, 200) || 'nothing'],
        },
      }
    }),
    // A server with a single model may accept any name for it.
    each(bad.unknown, ({ exchange }) => ({
      'unknown-model-is-refused': {
        advice: [
          exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
          'a call for "no-such-model"',
          'a 4xx',
          endText(exchange),
        ],
      },
    })),
    each(bad.afterwards, ({ exchange }) => answered(exchange, 'a proper call afterwards')),
  ],
})

const breaking = { hostile: step<{ body: string }>('hostile'), afterwards: step('afterwards') }

/** Invalid bodies that have crashed servers. */
const BODIES: Readonly<Record<string, string>> = {
  'nested 100,000 deep': `{"model":"MODEL","messages":${'['.repeat(100_000)}`,
  'a key 1 MB long': `{"${'x'.repeat(2 ** 20)}":1}`,
  'a number with 100,000 digits': `{"model":"MODEL","max_tokens":${'9'.repeat(100_000)}}`,
  'half a surrogate': '{"model":"MODEL","messages":"\\ud800"}',
}

check('SRV-12', {
  stress: true,
  hostile: true,
  async exercise(session) {
    for (const [name, body] of Object.entries(BODIES))
      await post(session, breaking.hostile.with({ body: name }), body)
    await session.chat(breaking.afterwards, { body: small(session, false, 1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: [
    each(breaking.hostile, ({ exchange, details }) => ({
      'hostile-is-4xx': [
        exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
        `the answer to a body with ${details.body}`,
        'a 4xx',
        endText(exchange),
      ],
    })),
    each(breaking.afterwards, ({ exchange }) => answered(exchange, 'a proper call afterwards')),
  ],
})

const tooLong = step('call')

check('SRV-10', {
  needs: ['window'],
  async exercise(session) {
    const { window = 0 } = session.target.capabilities
    // Each number is at least one token.
    const prompt = Array.from({ length: window + 1 }, (_, index) => index).join(' ')
    await session.chat(tooLong, { prompt, body: session.limit(1), timeout: ANSWER_TIMEOUT_MS })
  },
  judge: each(tooLong, ({ exchange, target }) => ({
    'too-long-is-refused': [
      exchange.status !== null && exchange.status >= 400 && exchange.status < 500,
      `a prompt of more than ${target.capabilities.window} tokens`,
      'a 4xx',
      endText(exchange),
    ],
  })),
})

const forced = step<{ stream: boolean }>('call')

const NAME = 'pick_a_city'
const about = { name: NAME, description: 'Picks a city.' }

/** Members of a body that force a call of the tool. */
const FORCED: Readonly<Partial<Record<DialectName, object>>> = {
  chat: {
    tools: [{ type: 'function', function: { ...about, parameters: FORM } }],
    tool_choice: { type: 'function', function: { name: NAME } },
  },
  messages: { tools: [{ ...about, input_schema: FORM }], tool_choice: { type: 'tool', name: NAME } },
  responses: {
    tools: [{ type: 'function', ...about, parameters: FORM, strict: true }],
    tool_choice: { type: 'function', name: NAME },
  },
}

check('SRV-07', {
  exercise: callEach(forced, { stream: [false, true] }, ({ stream }, session) => ({
    stream,
    body: { ...small(session, stream, FORM_TOKENS), ...FORCED[session.dialect.name] },
    timeout: ANSWER_TIMEOUT_MS,
  })),
  judge({ evidence }) {
    const calls = forced.in(evidence)
    const refused = calls.find(isNotOffered)
    if (refused && calls.every(isNotOffered)) return [notOffered(refused, 'a forced tool')]
    return calls.flatMap((exchange): Finding[] => {
      const { tools } = readAnswer(exchange)
      const kind = exchange.details.stream ? 'streamed' : 'whole'
      const first = answered(exchange, `a ${kind} call with a forced tool`)
      const cut = cutByLimit(exchange, 'is-called', 'the arguments')
      if (first.ok && cut) return [first, cut]
      const [tool] = tools
      return [
        first,
        finding(
          'is-called',
          tools.length === 1 && tool!.name === NAME && tool!.id !== '',
          `tool calls in a ${kind} answer`,
          {
            expected: `one call of ${NAME} with an id`,
            actual:
              tools.map(({ name, id }) => `${name || 'no name'} (${id || 'no id'})`).join(', ') || 'none',
          },
          [ref(exchange)],
        ),
        finding(
          'arguments-fit',
          tool !== undefined && fitsForm(jsonOf(tool.arguments)),
          `arguments of the call in a ${kind} answer`,
          { expected: 'JSON that fits the schema', actual: tool?.arguments ?? 'no call' },
          [ref(exchange)],
        ),
      ]
    })
  },
})

const formed = step('call')

const NAMED = { name: 'city', strict: true, schema: FORM }

check('SRV-08', {
  async exercise(session) {
    const form =
      session.dialect.name === 'responses'
        ? { text: { format: { type: 'json_schema', ...NAMED } } }
        : { response_format: { type: 'json_schema', json_schema: NAMED } }
    await session.chat(formed, {
      prompt: 'Pick a city, as JSON.',
      body: { ...small(session, false, FORM_TOKENS), ...form },
      timeout: ANSWER_TIMEOUT_MS,
    })
  },
  judge: each(formed, ({ exchange }) => {
    if (isNotOffered(exchange)) return [notOffered(exchange, 'a JSON schema for its answer')]
    const first = answered(exchange, 'a call with a JSON schema for its answer')
    const cut = cutByLimit(exchange, 'answer-fits', 'the JSON')
    if (first.ok && cut) return [first, cut]
    const { content } = readAnswer(exchange)
    return [
      first,
      {
        'answer-fits': [
          fitsForm(jsonOf(content)),
          'the text of the answer',
          'JSON that fits the schema',
          content.slice(0, 200) || 'nothing',
        ],
      },
    ]
  }),
})

const list = step('model list')

check('SRV-09', {
  needs: ['catalog'],
  exercise: (session) => session.ask(list, session.target.capabilities.catalog!),
  judge: each(list, ({ exchange, target }) => {
    const { success, data } = modelListSchema.safeParse(jsonOf(exchange.body))
    const ids = success ? data.data.map(({ id }) => id) : []
    const { call } = target.models
    return {
      'is-a-model-list': [
        exchange.status === 200 && success && ids.length > 0,
        'the model list',
        "200, and OpenAI's list with at least one model",
        `${endText(exchange)}: ${exchange.body.slice(0, 200)}`,
      ], // Aliases and models that are loaded on demand need not be listed.
      'called-model-is-listed': {
        advice: [
          call === undefined || ids.includes(call),
          'the model of this run in the list',
          String(call),
          listed(ids.slice(0, 20)),
        ],
      },
    }
  }),
})

const embed = step<{ inputs: number; base64: boolean }>('call')

check('SRV-11', {
  needs: ['embeddings'],
  dialect: 'embeddings',
  async exercise(session) {
    for (const [inputs, base64] of [
      [1, false],
      [2, false],
      [1, true],
    ] as const)
      await session.chat(embed.with({ inputs, base64 }), {
        body: {
          ...(inputs === 2 && { input: ['One text.', 'Another text, which is longer.'] }),
          ...(base64 && { encoding_format: 'base64' }),
        },
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge: each(embed, ({ exchange, details }) => findingsOf(exchange, details)),
})

function findingsOf(
  exchange: Exchange,
  { inputs, base64 }: { readonly inputs: number; readonly base64: boolean },
): Finding[] {
  const { data, usage } = jsonIn(exchange)
  const entries: AnyJson[] = Array.isArray(data) ? data : []
  const vectors = entries.map(({ embedding }) => (base64 ? floatsIn(embedding) : embedding))
  const lengths = new Set(vectors.map((vector) => (isVector(vector) ? vector.length : 0)))
  const what = base64 ? 'vectors in base64' : `vectors of ${inputs} texts`
  const see = [ref(exchange)]
  return [
    answered(exchange, `a call for ${what}`),
    finding(
      'one-vector-each-in-order',
      entries.length === inputs && entries.every(({ index }, place) => index === place),
      what,
      {
        expected: `${inputs}, with indexes from 0 on`,
        actual: `${entries.length}, with the indexes ${entries.map(({ index }) => index).join(', ') || 'none'}`,
      },
      see,
    ),
    // The official clients request base64 by default, and also accept lists of numbers.
    {
      ...finding(
        'vectors-are-numbers',
        lengths.size === 1 && !lengths.has(0),
        `lengths of the ${what}`,
        {
          expected: 'one length',
          actual: lengths.size === 0 ? 'no vector' : `lengths ${[...lengths].join(' and ')}`,
        },
        see,
      ),
      ...(base64 && { advice: true }),
    },
    finding(
      'has-counts',
      isTokenCount(usage?.prompt_tokens) && usage.prompt_tokens > 0,
      `usage of ${what}`,
      { expected: 'tokens of the input', actual: JSON.stringify(usage) ?? 'none' },
      see,
    ),
  ]
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => Number.isFinite(each))

/** Reads little-endian floats in base64; returns a list unchanged. */
function floatsIn(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const bytes = Buffer.from(value, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(4 * index))
}
