// KEEP-06: A foreign Host or Origin is refused. Binding to a public address without keys is refused. No command
// accepts a key as an argument.

import { ref, refs } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  foreign: step('foreign'),
}

export const foreignOrigins = {
  id: 'KEEP-06',
  async exercise(session) {
    const body = JSON.stringify({ model: session.model, messages: [{ role: 'user', content: 'x' }] })
    const post = { method: 'POST', body }
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      await session.ask(steps.foreign, '/v1/models', { headers })
      await session.ask(steps.foreign, '/v1/chat/completions', {
        ...post,
        headers: { ...headers, 'content-type': 'application/json' },
      })
    }
    if (session.target.variants.public) {
      const refused = await session.another('public').then(
        () => null,
        (cause: Error) => cause.message,
      )
      session.note('public', refused)
    }
  },
  judge: ({ evidence }) => {
    const refused = evidence.facts.public
    const reached = evidence.ledger.filter(({ kind }) => kind === 'inference')
    return [
      ...steps.foreign.in(evidence).map((exchange) => {
        const { host, origin } = exchange.request.headers
        return finding(
          'foreign-is-refused',
          exchange.status === 403,
          `the answer to ${exchange.request.method} with ${host ? `Host ${host}` : `Origin ${origin}`}`,
          { expected: '403', actual: endText(exchange) },
          [ref(exchange)],
        )
      }),
      finding(
        'none-reaches-a-provider',
        reached.length === 0,
        'inferences of such requests',
        { expected: 'none', actual: String(reached.length) },
        refs(...reached),
      ),
      ...(refused === undefined
        ? []
        : [
            finding(
              'no-public-address-without-keys',
              typeof refused === 'string' && /key/.test(refused),
              'a start on a public address without keys',
              { expected: 'refused with a word about keys', actual: String(refused ?? 'it runs') },
            ),
          ]),
    ]
  },
} satisfies Check
