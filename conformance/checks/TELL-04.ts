// TELL-04: Session and cache headers follow their closed sets, and are absent on read endpoints.
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'

const SESSION = 'conformance-session-1'

const LIVE = ['x-gateway-cache', 'x-gateway-session-id']

export const closedSets = {
  id: 'TELL-04',
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat('with session', { stream, headers: { 'x-gateway-session-id': SESSION } })
      await session.chat('without session', { stream })
    }
    await session.chat('no-store', { headers: { 'cache-control': 'no-store' } })
    for (const path of session.target.capabilities.read_paths)
      await session.ask('read', path, {
        key: session.running.keys.reader,
        headers: { 'x-gateway-session-id': SESSION },
      })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const [cache, session] = LIVE.map((name) => exchange.headers[name])
      const { label } = exchange
      if (label === 'read')
        return finding(
          'none-on-reads',
          cache === undefined && session === undefined,
          `${exchange.request.path}: cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`,
          [ref(exchange)],
        )
      const closed = ['HIT', 'MISS', 'BYPASS'].includes(cache ?? '')
      const right = label === 'with session' ? session === SESSION : session === undefined
      return finding(
        'closed-sets',
        closed && right,
        `${label}: cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`,
        [ref(exchange)],
      )
    }),
} satisfies Check
