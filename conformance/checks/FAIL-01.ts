// FAIL-01: Errors on inference endpoints have OpenAI's error format, because clients read the message only there.
// (Waybill: errors on every path have this format, or the error format of the caller's dialect.)

import { everyModel, refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf } from '../dialects/registry.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { malformed, post } from './fail.ts'

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
    const [[, missing] = ['', '{}']] = Object.entries(session.dialect.malformed)
    await post(session, steps.noJson, malformed(session)['no JSON']!)
    await post(session, steps.noMessages, missing)
    await session.chat(steps.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    await session.chat(steps.allTargetsFail, { script: [{ scenario: '500' }] })
    await session.wait(session.target.capabilities.cooldown_ms)
    for (const model of everyModel(session))
      await session.chat(steps.providerRefuses, { model, script: [{ scenario: '400' }] })
    if (session.target.capabilities.gateway_keys) await session.chat(steps.noKey, { key: null })
    if (session.dialect.name !== 'chat') return // once is enough for a request that is not a call
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
        const { isError, errorShape } = dialectOf(exchange)
        const harmless = step === steps.readPathWrongParameter.step && status === 200
        const failed = status !== null && status >= 400
        const worded = waybill
          ? isError(body) && typeof at(jsonOf(body), '/request_id') === 'string'
          : isError(body)
        // A relayed provider error has no request id.
        const relayed =
          (step === steps.providerRefuses.step || step === steps.allTargetsFail.step) && isError(body)
        const ok = harmless || (failed && (worded || relayed))
        return finding(
          'error-body',
          ok,
          `the answer to "${step}"`,
          {
            expected: `an error status and ${errorShape}${waybill ? ' with a request_id' : ''}`,
            actual: `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
          },
          refs(exchange, servedBy(evidence, exchange)),
        )
      }),
} satisfies Check
