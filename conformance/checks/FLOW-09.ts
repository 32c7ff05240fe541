// FLOW-09: An error event after the response has started reaches the client (gateways that tell their route: and the
// record says failed).
import { type Check, finding } from '../check.ts'
import { labelled, recordIn, refs, requestIdOf, servedBy } from '../lookup.ts'
import { at } from '../reading.ts'
import { isVisible } from './flow.ts'

export const lateErrorArrives = {
  id: 'FLOW-09',
  hostile: true,
  async exercise(session) {
    const exchange = await session.chat('error after the response start', {
      stream: true,
      script: [{ scenario: 'error-in-stream' }],
    })
    await session.record('record', exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence, target }) {
    const [exchange] = labelled(evidence, 'error after the response start')
    const entry = servedBy(evidence, exchange!)
    const findings = [
      finding(
        'error-is-visible',
        entry !== null && isVisible(exchange!),
        `${entry ? 'the provider sent an error in its stream' : 'the provider was not asked'}, the client ${isVisible(exchange!) ? 'saw' : 'did not see'} one`,
        refs(exchange, entry),
      ),
    ]
    const [reading] = labelled(evidence, 'record')
    const { log } = target.observability
    if (reading && log?.fields.state !== undefined && log.failed.length > 0) {
      const state = String(
        at(recordIn(target, reading, requestIdOf(target, exchange!) ?? ''), log.fields.state),
      )
      findings.push(
        finding(
          'record-says-failed',
          log.failed.includes(state),
          `the record says ${JSON.stringify(state)}`,
          refs(reading),
        ),
      )
    }
    return findings
  },
} satisfies Check
