// FAIL-01: Errors on inference endpoints have OpenAI's body shape (Waybill: on every route, or the shape of the caller's own dialect).
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, isOpenAiError, jsonOf } from '../reading.ts'
import { MALFORMED, post } from './fail.ts'

export const errorShape = {
  id: 'FAIL-01',
  hostile: true,
  async exercise(session) {
    await post(session, 'no JSON', MALFORMED['no JSON']!)
    await post(session, 'no messages', MALFORMED['no messages']!)
    await session.chat('unknown model', {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    await session.chat('all targets fail', { script: [{ scenario: '500' }] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat('provider refuses', { script: [{ scenario: '400' }] })
    if (session.target.capabilities.gateway_keys) await session.chat('no key', { key: null })
    for (const path of session.target.capabilities.read_paths)
      await session.ask(
        'read path, wrong parameter',
        `${path}${path.includes('?') ? '&' : '?'}no_such_parameter=1`,
        { key: session.running.keys.reader },
      )
    await session.ask('nothing there', '/v1/no-such-endpoint', { key: session.running.keys.reader })
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges
      .filter(({ label }) => waybill || !/^(read path|nothing there)/.test(label))
      .map((exchange) => {
        const { status, body, label } = exchange
        const harmless = label.startsWith('read path') && status === 200
        const failed = status !== null && status >= 400
        const worded = waybill
          ? isOpenAiError(body) && typeof at(jsonOf(body), '/request_id') === 'string'
          : isOpenAiError(body)
        // A provider's own error is relayed as it is, and carries no request id.
        const relayed = /provider refuses|all targets fail/.test(label) && isOpenAiError(body)
        const ok = harmless || (failed && (worded || relayed))
        return finding(
          'error-body',
          ok,
          `the answer to "${label}"`,
          refs(exchange, servedBy(evidence, exchange)),
          {
            expected: `an error status and {"error":{"message":…}}${waybill ? ' with a request_id' : ''}`,
            actual: `${status ?? exchange.error}: ${body.slice(0, 120) || 'no body'}`,
          },
        )
      }),
} satisfies Check
