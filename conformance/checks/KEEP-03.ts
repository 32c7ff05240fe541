// KEEP-03: A missing or wrong key gets 401 on every protected endpoint.
import { writeNonce } from '../../mocks/ledger.ts'
import { type Check, finding } from '../check.ts'
import { ref, refs, requestsOf } from '../lookup.ts'
import { step } from '../step.ts'
import { ended } from '../words.ts'

const steps = {
  noKey: step('no key'),
  wrongKey: step('wrong key'),
  rightKey: step('right key'),
}

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
      await session.ask(steps.noKey, path, { ...request, key: null })
      await session.ask(steps.wrongKey, path, { ...request, key: 'sk-wrong-key-of-the-suite' })
      if (!post) await session.ask(steps.rightKey, path, { ...request, key: session.running.keys.reader })
    }
  },
  judge: ({ evidence }) => [
    ...[...steps.noKey.in(evidence), ...steps.wrongKey.in(evidence)].map((exchange) =>
      finding(
        'refused-without-a-key',
        exchange.status === 401,
        `the answer to ${exchange.request.method} ${exchange.request.path} with ${exchange.step}`,
        { expected: '401', actual: ended(exchange) },
        refs(exchange, ...requestsOf(evidence, exchange)),
      ),
    ),
    ...steps.rightKey
      .in(evidence)
      .map((exchange) =>
        finding(
          'answered-with-the-key',
          exchange.status !== null && exchange.status < 400,
          `the answer to ${exchange.request.path} with the right key`,
          { expected: 'less than 400', actual: ended(exchange) },
          [ref(exchange)],
        ),
      ),
  ],
} satisfies Check
