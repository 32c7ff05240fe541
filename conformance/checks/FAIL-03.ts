// FAIL-03: A body over the limit is 413 before it is read whole.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'

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
    await session.ask('too large', '/v1/chat/completions', { method: 'POST', headers, body })
    // The length alone is enough: nothing of the body is ever sent.
    await session.ask('announced', '/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-length': String(2 ** 30) },
      body: null,
      timeout: 3_000,
    })
    await session.chat('afterwards')
  },
  judge: ({ evidence }) => [
    ...[...labelled(evidence, 'too large'), ...labelled(evidence, 'announced')].map((exchange) =>
      finding(
        'too-large-is-413',
        exchange.status === 413 && at(jsonOf(exchange.body), '/error/code') === 'body_too_large',
        `the answer to a body that is ${exchange.label}`,
        [ref(exchange)],
        {
          expected: '413 body_too_large',
          actual: `${exchange.status ?? exchange.error} after ${Math.round(exchange.end_at - exchange.at)} ms`,
        },
      ),
    ),
    ...labelled(evidence, 'afterwards').map((exchange) =>
      finding('works-afterwards', exchange.status === 200, `a proper call afterwards: ${exchange.status}`, [
        ref(exchange),
      ]),
    ),
  ],
} satisfies Check
