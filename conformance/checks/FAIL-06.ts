// FAIL-06: A hostile sequence of requests neither crashes nor wedges the gateway: a control call works after it.
import { type Check, finding } from '../check.ts'
import { labelled } from '../lookup.ts'
import type { Session } from '../session.ts'
import { isStillThere, JSON_TYPE, MALFORMED, PATH, post } from './fail.ts'

async function leaveAtOnce(session: Session): Promise<void> {
  const call = await session.openChat('hostile', { stream: true, script: [{ scenario: 'long' }] })
  await session.wait(5)
  call.leave()
  await call.done
}

export const hostileSequence = {
  id: 'FAIL-06',
  hostile: true,
  timeout: 120_000,
  async exercise(session) {
    for (const body of Object.values(MALFORMED)) await post(session, 'hostile', body)
    await session.ask('hostile', PATH, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    })
    await session.ask('hostile', PATH, { method: 'DELETE' })
    await session.ask('hostile', `/${'a/'.repeat(2_000)}`, {})
    await session.ask('hostile', '/v1/models/%00%ff', {})
    await post(session, 'hostile', `{"model":"MODEL","messages":${'['.repeat(20_000)}`)
    await session.ask('hostile', PATH, {
      method: 'POST',
      headers: { ...JSON_TYPE, 'x-filler': 'x'.repeat(12_000) },
      body: '{}',
    })
    for (const scenario of ['garbage', 'html', 'reset', 'cut-after-1']) {
      await session.chat('hostile', { stream: true, script: [{ scenario }] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await Promise.all(Array.from({ length: 20 }, () => leaveAtOnce(session)))
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat('afterwards')
    await session.chat('afterwards', { stream: true })
    // Calls that were left at once may reach the witness later; they belong to this check.
    await session.drain()
  },
  judge: ({ evidence }) => [
    finding(
      'hostile-requests-were-made',
      labelled(evidence, 'hostile').length > 20,
      `${labelled(evidence, 'hostile').length} hostile requests were made`,
    ),
    ...labelled(evidence, 'afterwards').map((exchange) => isStillThere(evidence, exchange)),
  ],
} satisfies Check
