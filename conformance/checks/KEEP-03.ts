// KEEP-03: A missing or wrong key is 401 on every protected endpoint.
import { writeNonce } from '../../mocks/ledger.ts'
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs, requestsOf } from '../lookup.ts'

export const keysAreRequired = {
  id: 'KEEP-03',
  needs: ['gateway_keys'],
  async exercise(session) {
    for (const declared of session.target.capabilities.gateway_keys!.protected) {
      const [, method = 'GET', path = declared] = /^([A-Z]+) (.*)$/.exec(declared) ?? []
      const post = method === 'POST' || /chat\/completions$/.test(path)
      const messages = [{ role: 'user', content: writeNonce(session.nonce()) }]
      const request = post
        ? {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: session.model, messages }),
          }
        : { method }
      await session.ask('no key', path, { ...request, key: null })
      await session.ask('wrong key', path, { ...request, key: 'sk-wrong-key-of-the-suite' })
      if (!post) await session.ask('right key', path, { ...request, key: session.running.keys.reader })
    }
  },
  judge: ({ evidence }) => [
    ...[...labelled(evidence, 'no key'), ...labelled(evidence, 'wrong key')].map((exchange) =>
      finding(
        'refused-without-a-key',
        exchange.status === 401,
        `the answer to ${exchange.request.method} ${exchange.request.path} with ${exchange.label}`,
        refs(exchange, ...requestsOf(evidence, exchange)),
        { expected: '401', actual: String(exchange.status ?? exchange.error) },
      ),
    ),
    ...labelled(evidence, 'right key').map((exchange) =>
      finding(
        'answered-with-the-key',
        exchange.status !== null && exchange.status < 400,
        `${exchange.request.path} with the right key: ${exchange.status}`,
        [ref(exchange)],
      ),
    ),
  ],
} satisfies Check
