// KEEP-03: A missing or wrong key gets 401 or 403 on every protected endpoint (Waybill: 401). A request with a
// valid key is answered there. On some of these endpoints, a valid key may get 403 because of its role, provided
// that a wrong key gets 401 there. (Waybill is tested with a key of each role; one of them is answered on all
// endpoints.)
import { writeNonce } from '../../mocks/ledger.ts'
import { ref, refs, requestsOf } from '../dialects/lookup.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { type PlainStep, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, type Finding, finding } from '../runner/check.ts'
import { declares } from '../target/schema.ts'

const steps = {
  noKey: step('no key'),
  wrongKey: step('wrong key'),
  rightKey: step('right key'),
  otherRightKey: step('the other right key'),
  inQuery: step('right key in the query'),
}

/** Adds a key to the URL. Such a key must give no access, because URLs end up in logs and histories. */
const withKey = (path: string, key: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}access_token=${encodeURIComponent(key)}`

/** Finds the same request with another key. */
const beside = (step: PlainStep, evidence: Evidence, { request: { path, method } }: Exchange) =>
  step.in(evidence).find(({ request }) => request.path === path && request.method === method)

const isAnswered = ({ status }: Pick<Exchange, 'status'>): boolean => status !== null && status < 400

/** Checks that each path answers valid keys. The role of a single key is unknown. */
function withRightKeys(evidence: Evidence, waybill: boolean): Finding[] {
  const asked = steps.rightKey.in(evidence)
  const onAll = waybill && steps.otherRightKey.in(evidence).length > 0
  const best = asked.map((exchange) => {
    const other = beside(steps.otherRightKey, evidence, exchange)
    return !isAnswered(exchange) && other && isAnswered(other) ? other : exchange
  })
  // A known key may lack a role. A key that is refused everywhere looks like an unknown key.
  const isKnown = best.some(isAnswered)
  return best.map((exchange) => {
    const lacksRole =
      exchange.status === 403 && beside(steps.wrongKey, evidence, exchange)?.status === 401 && isKnown
    return finding(
      'answered-with-the-key',
      isAnswered(exchange) || (lacksRole && !onAll),
      `the answer to ${exchange.request.path} with ${exchange.step}`,
      {
        expected: onAll
          ? 'less than 400'
          : 'less than 400, or 403 where a wrong key gets 401 and the right one is answered elsewhere',
        actual: endText(exchange),
      },
      [ref(exchange)],
    )
  })
}

export const keysAreRequired = {
  id: 'KEEP-03',
  timeout: 90_000,
  needs: ['gateway_keys'],
  async exercise(session) {
    const { client, reader } = session.running.keys
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
      // Keys of a gateway on another machine are real and may end up in its logs. Google's clients request
      // models in this way.
      const inQuery = client !== null && declares(session.target, 'files') && !/\/models\b/.test(path)
      await Promise.all([
        session.ask(steps.noKey, path, { ...request, key: null }),
        session.ask(steps.wrongKey, path, { ...request, key: 'sk-wrong-key-of-the-suite' }),
        inQuery && session.ask(steps.inQuery, withKey(path, client), { ...request, key: null }),
        !post && session.ask(steps.rightKey, path, { ...request, key: reader }),
        !post && client !== reader && session.ask(steps.otherRightKey, path, { ...request, key: client }),
      ])
    }
  },
  judge: ({ evidence, waybill }) => [
    ...[...steps.noKey.in(evidence), ...steps.wrongKey.in(evidence)].map((exchange) =>
      finding(
        'refused-without-a-key',
        exchange.status === 401 || (!waybill && exchange.status === 403),
        `the answer to ${exchange.request.method} ${exchange.request.path} with ${exchange.step}`,
        { expected: waybill ? '401' : '401 or 403', actual: endText(exchange) },
        refs(exchange, ...requestsOf(evidence, exchange)),
      ),
    ),
    ...steps.inQuery
      .in(evidence)
      .flatMap((exchange) =>
        waybill
          ? [
              finding(
                'key-in-a-url-is-refused',
                exchange.status === 400 || exchange.status === 401,
                `the answer to ${exchange.request.method} ${exchange.request.path}`,
                { expected: '400 or 401', actual: endText(exchange) },
                refs(exchange, ...requestsOf(evidence, exchange)),
              ),
            ]
          : [],
      ),
    ...withRightKeys(evidence, waybill),
  ],
} satisfies Check
