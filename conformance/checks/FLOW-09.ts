// FLOW-09: An error event after the response has started reaches the client (gateways that tell their route: and the
// call is recorded as failed).
import { type Check, finding } from '../check.ts'
import { recordIn, refs, requestIdOf, servedBy } from '../lookup.ts'
import { at } from '../reading.ts'
import { delta } from '../scripted.ts'
import { step } from '../step.ts'
import { isVisible } from './flow.ts'

const steps = {
  errorAfterTheResponseStart: step('error after the response start'),
  record: step('record'),
}

export const lateErrorArrives = {
  id: 'FLOW-09',
  hostile: true,
  async exercise(session) {
    const gate = session.nonce()
    // The error exists only when the client has the first event: before that a gateway may still move on.
    const events = [delta('one'), { gate }, { failure: 'synthetic' }]
    const call = await session.openChat(steps.errorAfterTheResponseStart, {
      stream: true,
      script: [{ events }],
    })
    const begun = await call.says('one')
    await session.witness.release(gate)
    const exchange = await call.done
    if (!begun && (await session.witness.seen(call.nonce, 1)))
      session.untestable('the first event of a stream did not reach the client before the next one was there')
    await session.record(exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence, target }) {
    const [exchange] = steps.errorAfterTheResponseStart.in(evidence)
    const entry = servedBy(evidence, exchange!)
    const findings = [
      finding(
        'error-is-visible',
        entry !== null && isVisible(exchange!),
        'what the client saw of an error that the provider sent in its stream',
        {
          expected: 'an error',
          actual: !entry ? 'the provider was not asked' : isVisible(exchange!) ? 'an error' : 'none',
        },
        refs(exchange, entry),
      ),
    ]
    const [reading] = steps.record.in(evidence)
    const { log } = target.observability
    if (reading && log?.fields.state !== undefined && log.failed.length > 0) {
      const state = String(
        at(recordIn(target, reading, requestIdOf(target, exchange!) ?? ''), log.fields.state),
      )
      findings.push(
        finding(
          'record-says-failed',
          log.failed.includes(state),
          'the state on record',
          { expected: log.failed.join(' or '), actual: JSON.stringify(state) },
          refs(reading),
        ),
      )
    }
    return findings
  },
} satisfies Check
