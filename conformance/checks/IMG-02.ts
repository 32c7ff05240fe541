// IMG-02: A request for images reaches the provider unchanged except for its model. The pictures arrive unchanged,
// in order, with everything that the provider says about them.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { PIXEL } from './images.ts'

const call = step<{ about: string }>('call')

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
    answer: {
      data: [{ url: 'https://example.com/a.png?sig=a%2Bb', revised_prompt: 'A “waybill” – naïve' }],
    },
  },
  'unknown members': {
    ask: { waybill_probe: { kept: true } },
    answer: { data: [{ b64_json: PIXEL, waybill_probe: [1, null] }], waybill_probe: 'kept', ...USAGE },
  },
}

export const picturesArrive = {
  id: 'IMG-02',
  needs: ['images'],
  dialect: 'images',
  async exercise(session) {
    for (const [about, { ask, answer }] of Object.entries(CALLS))
      await session.chat(call.with({ about }), {
        body: ask,
        script: [{ status: 200, body: { created: 1_764_000_000, ...answer } }],
      })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      const { model: _, ...asked } = (jsonOf(exchange.request.body ?? '') ?? {}) as Record<string, unknown>
      const { model: __, ...sent } = (entry?.body ?? {}) as Record<string, unknown>
      const theirs = jsonOf(entry?.answer.body ?? '')
      const got = jsonOf(exchange.body)
      return [
        finding(
          'request-is-unchanged',
          entry !== null && isDeepStrictEqual(sent, asked),
          `the request of "${stepText(exchange)}", its model aside`,
          {
            expected: JSON.stringify(asked),
            actual: entry ? JSON.stringify(sent) : `none: ${endText(exchange)}`,
          },
          see,
        ),
        finding(
          'pictures-are-unchanged',
          theirs !== undefined && isDeepStrictEqual(got, theirs),
          `the answer to "${stepText(exchange)}"`,
          {
            expected: JSON.stringify(theirs)?.slice(0, 200) ?? 'an answer of the provider',
            actual: JSON.stringify(got)?.slice(0, 200) ?? endText(exchange),
          },
          see,
        ),
      ]
    }),
} satisfies Check
