// FAIL-03: A body over the limit gets 413 before it is read completely.

import { ref } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  tooLarge: step('too large'),
  announced: step('announced'),
  afterwards: step('afterwards'),
}

export const bodyLimit = {
  id: 'FAIL-03',
  needs: ['variant:small'],
  async exercise(session) {
    await session.another('small')
    const body = JSON.stringify({
      model: session.model,
      messages: [{ role: 'user', content: 'x'.repeat(2 ** 20) }],
    })
    const headers = { 'content-type': 'application/json' }
    await session.ask(steps.tooLarge, '/v1/chat/completions', { method: 'POST', headers, body })
    // The announced length is enough: the body is never sent.
    await session.ask(steps.announced, '/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-length': String(2 ** 30) },
      body: null,
      timeout: 3_000,
    })
    await session.chat(steps.afterwards)
  },
  judge: ({ evidence }) => [
    ...[...steps.tooLarge.in(evidence), ...steps.announced.in(evidence)].map((exchange) =>
      finding(
        'too-large-is-413',
        exchange.status === 413 && at(jsonOf(exchange.body), '/error/code') === 'body_too_large',
        `the answer to a body of ${exchange.step === steps.announced.step ? '1 GiB that is only announced' : '1 MiB'}`,
        {
          expected: '413 body_too_large',
          actual: `${endText(exchange)} after ${Math.round(exchange.end_at - exchange.at)} ms`,
        },
        [ref(exchange)],
      ),
    ),
    ...steps.afterwards
      .in(evidence)
      .map((exchange) =>
        finding(
          'works-afterwards',
          exchange.status === 200,
          'a proper call afterwards',
          { expected: '200', actual: endText(exchange) },
          [ref(exchange)],
        ),
      ),
  ],
} satisfies Check
