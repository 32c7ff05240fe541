// KEEP-06: A foreign Host or Origin is refused; a public bind without keys is refused; no command takes a key as
// argument.
import { type Check, finding } from '../check.ts'
import { labelled, ref } from '../lookup.ts'

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
      await session.ask('foreign', '/v1/models', { headers })
      await session.ask('foreign', '/v1/chat/completions', {
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
    return [
      ...labelled(evidence, 'foreign').map((exchange) => {
        const { host, origin } = exchange.request.headers
        return finding(
          'foreign-is-refused',
          exchange.status === 403,
          `${exchange.request.method} with ${host ? `Host ${host}` : `Origin ${origin}`}: ${exchange.status}`,
          [ref(exchange)],
        )
      }),
      finding(
        'none-reaches-a-provider',
        evidence.ledger.filter(({ kind }) => kind === 'inference').length === 0,
        'none of them reached a provider',
      ),
      ...(refused === undefined
        ? []
        : [
            finding(
              'no-public-address-without-keys',
              typeof refused === 'string' && /key/.test(refused),
              `a public address without keys: ${refused ?? 'it runs'}`,
            ),
          ]),
    ]
  },
} satisfies Check
