// MSG-11: Errors, including the gateway's own, are `{"type":"error","error":{"type","message"},"request_id"}` with
// the header `request-id` and the type that belongs to their status.

import { everyModel, refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { malformed, post } from './fail.ts'

const steps = {
  unknownModel: step('unknown model'),
  providerRefuses: step<{ model: string; status: number }>('provider refuses'),
  noKey: step('no key'),
  noJson: step('no JSON'),
}

/** Correct error types for each status. */
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

/** Error in Anthropic's format; another provider sends the plain status. */
const TOO_LARGE = {
  ...{ provider: 'anthropic', status: 413, headers: { 'request-id': 'req_synthetic' }, times: 1_000 },
  body: {
    type: 'error',
    error: { type: 'request_too_large', message: 'Request exceeds the maximum size, synthetic.' },
    request_id: 'req_synthetic',
  },
}

export const errorsOfMessages = {
  id: 'MSG-11',
  needs: ['messages'],
  dialect: 'messages',
  hostile: true,
  timeout: 150_000,
  async exercise(session) {
    await post(session, steps.noJson, malformed(session)['no JSON']!)
    await session.chat(steps.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    const refusals = everyModel(session).flatMap((model) =>
      [400, 413, 429, 529].map((status) => ({ model, status })),
    )
    for (const { model, status } of refusals) {
      await session.chat(steps.providerRefuses.with({ model, status }), {
        model,
        script: status === 413 ? [TOO_LARGE, { status }] : [{ status }],
        timeout: 45_000,
      })
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
          dialectOf(exchange).isError(body) && typed,
          `the error of "${stepText(exchange)}"`,
          {
            expected: `an error with the type of its status${TYPES[status ?? 0] ? `, ${TYPES[status ?? 0]!.join(' or ')}` : ''}`,
            actual: `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
          },
          see,
        ),
        finding(
          'names-its-request',
          ids.every((id) => typeof id === 'string' && id !== ''),
          `the request id of "${stepText(exchange)}"`,
          {
            expected: 'in the header request-id and in the body',
            actual: ids.map((id) => String(id ?? 'none')).join(', '),
          },
          see,
        ),
      ]
    }),
} satisfies Check
