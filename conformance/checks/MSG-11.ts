// MSG-11: Errors, including the gateway's own, are `{"type":"error","error":{"type","message"},"request_id"}` with
// the header `request-id` and the type that belongs to their status.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { surfaceOf } from '../surfaces.ts'
import { ended } from '../words.ts'
import { malformed, post } from './fail.ts'

const steps = {
  unknownModel: step('unknown model'),
  providerRefuses: step<{ status: number }>('provider refuses'),
  noKey: step('no key'),
  noJson: step('no JSON'),
}

/** The types that go with a status; where several do, any of them. */
const TYPES: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request_error'],
  401: ['authentication_error'],
  403: ['permission_error'],
  404: ['not_found_error'],
  413: ['request_too_large'],
  429: ['rate_limit_error'],
  500: ['api_error'],
  504: ['timeout_error', 'api_error'],
  529: ['overloaded_error'],
}

export const errorsOfMessages = {
  id: 'MSG-11',
  needs: ['messages'],
  surface: 'messages',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    await post(session, steps.noJson, malformed(session)['no JSON']!)
    await session.chat(steps.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    for (const status of [400, 429, 529]) {
      await session.chat(steps.providerRefuses.with({ status }), { script: [{ status }], timeout: 45_000 })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    if (session.target.capabilities.gateway_keys) await session.chat(steps.noKey, { key: null })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const { status, body, headers } = exchange
      const json = jsonOf(body)
      const type = String(at(json, '/error/type'))
      const typed = TYPES[status ?? 0]?.includes(type) ?? (status !== null && status >= 400)
      const see = refs(exchange, servedBy(evidence, exchange))
      const ids = [headers['request-id'], at(json, '/request_id')]
      return [
        finding(
          'type-of-its-status',
          surfaceOf(exchange).isError(body) && typed,
          `the error of "${exchange.step}"`,
          {
            expected: `an error with the type of its status${TYPES[status ?? 0] ? `, ${TYPES[status ?? 0]!.join(' or ')}` : ''}`,
            actual: `${ended(exchange)}: ${body.slice(0, 120) || 'no body'}`,
          },
          see,
        ),
        finding(
          'names-its-request',
          ids.every((id) => typeof id === 'string' && id !== ''),
          `the request id of "${exchange.step}"`,
          {
            expected: 'in the header request-id and in the body',
            actual: ids.map((id) => String(id ?? 'none')).join(', '),
          },
          see,
        ),
      ]
    }),
} satisfies Check
