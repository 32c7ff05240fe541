// FAIL-02: Malformed JSON, wrong types and missing fields are 4xx, by the gateway or by the strict provider, and the
// gateway stays up.
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'
import { isStillThere, MALFORMED, post } from './fail.ts'

export const malformedIs4xx = {
  id: 'FAIL-02',
  hostile: true,
  async exercise(session) {
    for (const [label, body] of Object.entries(MALFORMED)) await post(session, label, body)
    await session.chat('afterwards')
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { label, status } = exchange
      if (label === 'afterwards') return isStillThere(evidence, exchange)
      return finding(
        'malformed-is-4xx',
        status !== null && status >= 400 && status < 500,
        `the answer to a body that is ${label}`,
        [ref(exchange)],
        { expected: 'a 4xx', actual: String(status ?? exchange.error) },
      )
    }),
} satisfies Check
