// FAIL-01: Errors on inference endpoints have OpenAI's body shape (Waybill: on every route, or the shape of the caller's own dialect).
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { at, isOpenAiError, jsonOf } from '../reading.ts'
import { step } from '../step.ts'
import { ended } from '../words.ts'
import { MALFORMED, post } from './fail.ts'

const steps = {
  unknownModel: step('unknown model'),
  allTargetsFail: step('all targets fail'),
  providerRefuses: step('provider refuses'),
  noKey: step('no key'),
  readPathWrongParameter: step('read path, wrong parameter'),
  nothingThere: step('nothing there'),
  noJson: step('no JSON'),
  noMessages: step('no messages'),
}

export const errorShape = {
  id: 'FAIL-01',
  hostile: true,
  async exercise(session) {
    await post(session, steps.noJson, MALFORMED['no JSON']!)
    await post(session, steps.noMessages, MALFORMED['no messages']!)
    await session.chat(steps.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    await session.chat(steps.allTargetsFail, { script: [{ scenario: '500' }] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat(steps.providerRefuses, { script: [{ scenario: '400' }] })
    if (session.target.capabilities.gateway_keys) await session.chat(steps.noKey, { key: null })
    for (const path of session.target.capabilities.read_paths)
      await session.ask(
        steps.readPathWrongParameter,
        `${path}${path.includes('?') ? '&' : '?'}no_such_parameter=1`,
        { key: session.running.keys.reader },
      )
    await session.ask(steps.nothingThere, '/v1/no-such-endpoint', { key: session.running.keys.reader })
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges
      .filter(
        ({ step }) =>
          waybill || (step !== steps.readPathWrongParameter.step && step !== steps.nothingThere.step),
      )
      .map((exchange) => {
        const { status, body, step } = exchange
        const harmless = step === steps.readPathWrongParameter.step && status === 200
        const failed = status !== null && status >= 400
        const worded = waybill
          ? isOpenAiError(body) && typeof at(jsonOf(body), '/request_id') === 'string'
          : isOpenAiError(body)
        // A provider's own error is relayed as it is, and carries no request id.
        const relayed =
          (step === steps.providerRefuses.step || step === steps.allTargetsFail.step) && isOpenAiError(body)
        const ok = harmless || (failed && (worded || relayed))
        return finding(
          'error-body',
          ok,
          `the answer to "${step}"`,
          {
            expected: `an error status and {"error":{"message":…}}${waybill ? ' with a request_id' : ''}`,
            actual: `${ended(exchange)}: ${body.slice(0, 120) || 'no body'}`,
          },
          refs(exchange, servedBy(evidence, exchange)),
        )
      }),
} satisfies Check
