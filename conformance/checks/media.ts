// Checks of embeddings and images.

import { isDeepStrictEqual } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import { scriptedFailure } from '../dialects/dialect.ts'
import { modelsOf, recordIn, refs, requestIdOf, servedBy, where } from '../dialects/lookup.ts'
import { difference, endText, recordExchange, step } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { callEach, each, family, finding, logicalIds, thenCoolDown } from './check.ts'
import { wentTo } from './expect.ts'

const check = family()

const embed = step<{ input: string; format: string }>('call')

const vector = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
/** Vectors deliberately out of order, so that sorting them changes the answer. */
const FLOATS = [vector(1, [0.25, -1, 1e-7]), vector(0, [-0.5, 0, 0.125])]
const BASE64 = [vector(0, 'AACAPgAAgL8='), vector(1, 'AAAAvwAAAD4=')]

const answer = (data: readonly object[]) => ({
  body: { object: 'list', data, model: 'synthetic', usage: { prompt_tokens: 4, total_tokens: 4 } },
})

check('EMB-01', {
  needs: ['embeddings'],
  dialect: 'embeddings',
  async exercise(session) {
    const text = `naïve ${writeNonce(session.nonce())}`
    const inputs = { text, texts: [text, 'two'], tokens: [1, 2, 3], 'lists of tokens': [[1, 2], [3]] }
    for (const [input, value] of Object.entries(inputs))
      for (const format of ['float', 'base64']) {
        // An input of tokens contains no nonce, so its answer cannot be scripted.
        const nonce = input.includes('tokens')
          ? {}
          : { script: [answer(format === 'float' ? FLOATS : BASE64)] }
        const prompt = Array.isArray(value) && typeof value[0] !== 'string' ? { input: value } : {}
        const body = input === 'texts' ? { encoding_format: format } : { encoding_format: format, ...prompt }
        await session.chat(embed.with({ input, format }), { body, ...nonce })
      }
  },
  judge: each(embed, ({ exchange, quoted, evidence }) => {
    const asked = exchange.nonce !== null ? servedBy(evidence, exchange) : null
    const entry =
      asked ??
      evidence.ledger.find(
        (each) => each.kind === 'inference' && each.at >= exchange.at && each.at <= exchange.end_at,
      ) ??
      null
    const sent = at(jsonOf(exchange.request.body ?? ''), '/input')
    const arrived = finding(
      'input-is-unchanged',
      entry !== null && isDeepStrictEqual(at(entry.body, '/input'), sent),
      `the input of ${quoted}`,
      {
        expected: `input: ${JSON.stringify(sent)}`,
        actual: `input: ${JSON.stringify(at(entry?.body, '/input')) ?? 'nothing'}`,
      },
      refs(exchange, entry),
    )
    const theirs = at(jsonOf(entry?.answer.body ?? ''), '/data')
    if (entry?.answer.status !== 200 || theirs === undefined) return [arrived]
    const got = at(jsonOf(exchange.body), '/data')
    return [
      arrived,
      {
        'vectors-are-unchanged': [
          isDeepStrictEqual(got, theirs),
          `the vectors of ${quoted}`,
          'as the provider sent them',
          got === undefined ? 'none' : difference(JSON.stringify(got), JSON.stringify(theirs)),
          refs(exchange, entry),
        ],
      },
    ]
  }),
})

/** PNG of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const priced = step<{ usage: string; n: number }>('call')

const IMAGE_USAGES = {
  none: {},
  tokens: { usage: { input_tokens: 50, output_tokens: 4160, total_tokens: 4210 } },
} as const

check('IMG-01', {
  needs: ['images', 'record', 'cost'],
  dialect: 'images',
  async exercise(session) {
    for (const [usage, more] of Object.entries(IMAGE_USAGES))
      for (const n of [1, 3]) {
        const body = { created: 1, data: Array.from({ length: n }, () => ({ b64_json: PIXEL })), ...more }
        await session.record(
          await session.chat(priced.with({ usage, n }), { body: { n }, script: [{ status: 200, body }] }),
        )
      }
  },
  judge: each(priced, ({ exchange, details, entry, quoted, evidence, target }) => {
    const reading = recordExchange(evidence, exchange)
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const { cost, fields } = target.observability.log!
    const price = entry && cost!.prices[where(entry)]
    const usage = at(IMAGE_USAGES[details.usage as keyof typeof IMAGE_USAGES], '/usage') as
      | typeof IMAGE_USAGES.tokens.usage
      | undefined
    const usd =
      price && usage
        ? (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1e6
        : undefined
    const said = at(record, fields.cost)
    const isRight = usd === undefined ? Number(said) > 0 : Math.abs(Number(said) - usd) < 1e-9
    return {
      [usd === undefined ? 'never-0-without-usage' : 'priced-by-usage']: [
        record !== undefined && ((usd === undefined && said === null) || isRight),
        `the cost on record of ${quoted}`,
        usd === undefined ? 'null, or more than 0' : String(usd),
        JSON.stringify(said) ?? 'nothing',
        refs(exchange, reading, entry),
      ],
    }
  }),
})

const picture = step<{ about: string }>('call')

const USAGE = {
  usage: {
    input_tokens: 9,
    output_tokens: 4160,
    total_tokens: 4169,
    input_tokens_details: { text_tokens: 9 },
  },
}

/** Members of a request, and the pictures in the provider's answer. */
const CALLS: Readonly<Record<string, { ask: object; answer: object }>> = {
  'two pictures as bytes': {
    ask: { n: 2, size: '1024x1024', quality: 'low', background: 'transparent', output_format: 'webp' },
    answer: {
      ...{
        data: [{ b64_json: PIXEL }, { b64_json: 'Qk0=' }],
        background: 'transparent',
        output_format: 'webp',
      },
      ...USAGE,
    },
  },
  'a picture at an address': {
    ask: { response_format: 'url', style: 'vivid', user: 'a-user' },
    answer: { data: [{ url: 'https://example.com/a.png?sig=a%2Bb', revised_prompt: 'A “waybill” – naïve' }] },
  },
  'unknown members': {
    ask: { waybill_probe: { kept: true } },
    answer: { data: [{ b64_json: PIXEL, waybill_probe: [1, null] }], waybill_probe: 'kept', ...USAGE },
  },
}

check('IMG-02', {
  needs: ['images'],
  dialect: 'images',
  async exercise(session) {
    for (const [about, { ask, answer }] of Object.entries(CALLS))
      await session.chat(picture.with({ about }), {
        body: ask,
        script: [{ status: 200, body: { created: 1_764_000_000, ...answer } }],
      })
  },
  judge: each(picture, ({ exchange, entry, quoted }) => {
    const { model: _, ...asked } = (jsonOf(exchange.request.body ?? '') ?? {}) as Record<string, unknown>
    const { model: __, ...sent } = (entry?.body ?? {}) as Record<string, unknown>
    const theirs = jsonOf(entry?.answer.body ?? '')
    const got = jsonOf(exchange.body)
    return {
      'request-is-unchanged': [
        entry !== null && isDeepStrictEqual(sent, asked),
        `the request of ${quoted}, its model aside`,
        JSON.stringify(asked),
        entry ? JSON.stringify(sent) : `none: ${endText(exchange)}`,
      ],
      'pictures-are-unchanged': [
        theirs !== undefined && isDeepStrictEqual(got, theirs),
        `the answer to ${quoted}`,
        'as the provider sent it',
        got === undefined ? endText(exchange) : difference(JSON.stringify(got), JSON.stringify(theirs) ?? ''),
      ],
    }
  }),
})

const fails = step<{ model: string }>('the provider fails')
const firstFails = step<{ model: string }>('the first target of a route fails')

check('EMB-02', {
  needs: ['embeddings'],
  dialect: 'embeddings',
  exercise: [
    callEach(
      fails,
      { model: modelsOf },
      ({ model }) => ({ model, script: [scriptedFailure(500)] }),
      thenCoolDown(),
    ),
    callEach(
      firstFails,
      { model: logicalIds },
      ({ model }) => ({ model, script: [scriptedFailure(500)] }),
      thenCoolDown(),
    ),
  ],
  judge: [
    each(fails, (looked) => wentTo('no-other-model', 'nowhere but to the model', looked)),
    each(firstFails, (looked) =>
      looked.waybill ? wentTo('no-other-model-of-the-route', 'to one model only', looked) : [],
    ),
  ],
})
