// FAIL-02: Malformed JSON, wrong types and missing fields get a 4xx from the gateway or from a strict provider, and
// the gateway keeps running. After a 5xx, clients would send the same request again.

import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { isStillThere, malformed, post } from './fail.ts'

const steps = {
  malformed: step<{ body: string }>('malformed'),
  afterwards: step('afterwards'),
}

export const malformedIs4xx = {
  id: 'FAIL-02',
  hostile: true,
  async exercise(session) {
    for (const [name, body] of Object.entries(malformed(session)))
      await post(session, steps.malformed.with({ body: name }), body)
    await session.chat(steps.afterwards)
  },
  judge: ({ evidence }) => [
    ...steps.malformed.in(evidence).map((exchange) => {
      const { details, status } = exchange
      return finding(
        'malformed-is-4xx',
        status !== null && status >= 400 && status < 500,
        `the answer to a body that is ${details.body}`,
        { expected: 'a 4xx', actual: endText(exchange) },
        [ref(exchange)],
      )
    }),
    ...steps.afterwards.in(evidence).map((exchange) => isStillThere(evidence, exchange)),
  ],
} satisfies Check
