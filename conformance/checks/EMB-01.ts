// EMB-01: Inputs (a text, a list of texts, or tokens) and vectors (numbers or base64) arrive unchanged, in order
// and with their indexes.
import { isDeepStrictEqual } from 'node:util'
import { writeNonce } from '../../mocks/ledger.ts'
import { refs, servedBy } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ input: string; format: string }>('call')

const vector = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
/** Vectors deliberately out of order, so that sorting them changes the answer. */
const FLOATS = [vector(1, [0.25, -1, 1e-7]), vector(0, [-0.5, 0, 0.125])]
const BASE64 = [vector(0, 'AACAPgAAgL8='), vector(1, 'AAAAvwAAAD4=')]

const answer = (data: readonly object[]) => ({
  body: { object: 'list', data, model: 'synthetic', usage: { prompt_tokens: 4, total_tokens: 4 } },
})

export const vectorsArrive = {
  id: 'EMB-01',
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
        await session.chat(call.with({ input, format }), { body, ...nonce })
      }
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
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
        `the input of "${stepText(exchange)}"`,
        { expected: JSON.stringify(sent), actual: JSON.stringify(at(entry?.body, '/input')) ?? 'nothing' },
        refs(exchange, entry),
      )
      const theirs = at(jsonOf(entry?.answer.body ?? ''), '/data')
      if (entry?.answer.status !== 200 || theirs === undefined) return [arrived]
      const got = at(jsonOf(exchange.body), '/data')
      return [
        arrived,
        finding(
          'vectors-are-unchanged',
          isDeepStrictEqual(got, theirs),
          `the vectors of "${stepText(exchange)}"`,
          {
            expected: JSON.stringify(theirs).slice(0, 200),
            actual: JSON.stringify(got)?.slice(0, 200) ?? 'none',
          },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
