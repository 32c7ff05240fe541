// FAIL-06: A hostile sequence of requests neither crashes nor blocks the gateway. A control call works afterwards.

import { refs } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { isStillThere, malformed, post } from './fail.ts'

const steps = {
  hostile: step('hostile'),
  afterwards: step('afterwards'),
}

async function leaveAtOnce(session: CheckContext): Promise<void> {
  const call = await session.openChat(steps.hostile, { stream: true, script: [{ scenario: 'long' }] })
  await session.wait(5)
  call.leave()
  await call.done
}

export const hostileSequence = {
  id: 'FAIL-06',
  hostile: true,
  timeout: 120_000,
  async exercise(session) {
    for (const body of Object.values(malformed(session))) await post(session, steps.hostile, body)
    await session.ask(steps.hostile, session.dialect.path, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    })
    await session.ask(steps.hostile, session.dialect.path, { method: 'DELETE' })
    await session.ask(steps.hostile, `/${'a/'.repeat(2_000)}`, {})
    await session.ask(steps.hostile, '/v1/models/%00%ff', {})
    await post(session, steps.hostile, `{"model":"MODEL","messages":${'['.repeat(20_000)}`)
    await session.ask(steps.hostile, session.dialect.path, {
      method: 'POST',
      headers: { ...session.callHeaders, 'x-filler': 'x'.repeat(12_000) },
      body: '{}',
    })
    for (const scenario of ['garbage', 'html', 'reset', 'cut-after-1']) {
      await session.chat(steps.hostile, { stream: true, script: [{ scenario }] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await Promise.all(Array.from({ length: 20 }, () => leaveAtOnce(session)))
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat(steps.afterwards)
    await session.chat(steps.afterwards, { stream: true })
    // Abandoned calls may reach the mock later, but they belong to this check.
    await session.drain()
  },
  judge: ({ evidence }) => [
    finding(
      'hostile-requests-were-made',
      steps.hostile.in(evidence).length > 20,
      'hostile requests that were made',
      { expected: 'more than 20', actual: String(steps.hostile.in(evidence).length) },
      refs(...steps.hostile.in(evidence).slice(0, 1)),
    ),
    ...steps.afterwards.in(evidence).map((exchange) => isStillThere(evidence, exchange)),
  ],
} satisfies Check
