// GEM-01: A key is accepted as `x-goog-api-key` and as `?key=`, and does not reach the provider (Waybill: it does
// not reach a record, a log or an answer either). A wrong key is refused in Google's format.
import { refs, servedBy } from '../dialects/lookup.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { declares } from '../target/schema.ts'
import { refusedInShape } from './gemini.ts'

const right = step<{ place: string }>('the right key')
const wrong = step<{ place: string }>('a wrong key')

const WRONG = 'AIza-wrong-key-of-the-suite'

/** Returns the ways in which Google's clients send a key. */
const places = (key: string) => ({
  'x-goog-api-key': { key: null, headers: { 'x-goog-api-key': key } },
  '?key=': { key: null, query: `?key=${encodeURIComponent(key)}` },
})

export const googleKeys = {
  id: 'GEM-01',
  needs: ['gemini', 'gateway_keys'],
  dialect: 'gemini',
  async exercise(session) {
    const { client } = session.running.keys
    if (client === null)
      return session.untestable('the target file declares gateway keys, but none is in use')
    for (const [place, shown] of Object.entries(places(WRONG)))
      await session.chat(wrong.with({ place }), shown)
    // Keys of a gateway on another machine are real, and URLs may end up in its logs.
    for (const [place, shown] of Object.entries(places(client)))
      if (place !== '?key=' || declares(session.target, 'files'))
        await session.chat(right.with({ place }), shown)
  },
  judge: ({ evidence }) => [
    ...right.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const seen = entry?.canaries.filter((name) => name.startsWith('key.')) ?? []
      return [
        finding(
          'key-is-accepted',
          exchange.status === 200 && entry !== null,
          `the answer to "${stepText(exchange)}"`,
          { expected: '200', actual: `${endText(exchange)}${entry ? '' : ', and no provider was asked'}` },
          refs(exchange, entry),
        ),
        finding(
          'key-stays-here',
          seen.length === 0,
          `gateway keys at the provider after "${stepText(exchange)}"`,
          { expected: 'none', actual: seen.join(', ') || 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
    ...wrong.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      return [
        refusedInShape('wrong-key-is-refused', evidence, exchange),
        finding(
          'wrong-key-asks-nobody',
          entry === null,
          `requests to the provider after "${stepText(exchange)}"`,
          { expected: 'none', actual: entry ? 'one' : 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
  ],
} satisfies Check
