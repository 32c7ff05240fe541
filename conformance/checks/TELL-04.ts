// TELL-04: Session and cache headers have only the values that are defined for them, and are absent on read
// endpoints.

import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  withSession: step('with session'),
  withoutSession: step('without session'),
  noStore: step('no-store'),
  read: step('read'),
}

const SESSION = 'conformance-session-1'

const LIVE = ['x-gateway-cache', 'x-gateway-session-id']

export const closedSets = {
  id: 'TELL-04',
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat(steps.withSession, { stream, headers: { 'x-gateway-session-id': SESSION } })
      await session.chat(steps.withoutSession, { stream })
    }
    await session.chat(steps.noStore, { headers: { 'cache-control': 'no-store' } })
    if (session.dialect.name !== 'chat') return // reads are tested once, with chat
    for (const path of session.target.capabilities.read_paths)
      await session.ask(steps.read, path, {
        key: session.running.keys.reader,
        headers: { 'x-gateway-session-id': SESSION },
      })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const [cache, session] = LIVE.map((name) => exchange.headers[name])
      const { step } = exchange
      const actual = `cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`
      if (step === steps.read.step)
        return finding(
          'none-on-reads',
          cache === undefined && session === undefined,
          `the headers of ${exchange.request.path}`,
          { expected: 'cache absent, session absent', actual },
          [ref(exchange)],
        )
      const closed = ['HIT', 'MISS', 'BYPASS'].includes(cache ?? '')
      const expected = step === steps.withSession.step ? SESSION : undefined
      return finding(
        'closed-sets',
        closed && session === expected,
        `the headers of the call "${step}"`,
        { expected: `cache HIT, MISS or BYPASS, session ${expected ?? 'absent'}`, actual },
        [ref(exchange)],
      )
    }),
} satisfies Check
