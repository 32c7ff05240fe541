// LOG-10: Analytics, history, usage logs and sessions add up to the request log for the same window and key.
import { type Check, type Finding, finding } from '../check.ts'
import { labelled, refs } from '../lookup.ts'
import { jsonOf, type Json as Row } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'
import { failure } from '../scripted.ts'

export const sumsAddUp = {
  id: 'LOG-10',
  needs: ['files'],
  timeout: 60_000,
  async exercise(session) {
    await session.another(null)
    const headers = { 'x-gateway-session-id': `sums-${session.nonce()}` }
    for (let n = 0; n < 6; n++) await session.chat('call', { stream: n % 2 === 0, headers })
    await session.chat('call', { script: [failure(400)], headers })
    await session.chat('call', { script: [failure(500), { scenario: 'plain' }] })
    for (let tries = 0; tries < 50; tries++) {
      const page = await readAll(session, 'settling', `${LOG}?limit=200`)
      if (rowsIn(page).every(({ completed_at }) => completed_at !== null)) break
      await session.wait(100)
    }
    for (const [label, path] of Object.entries({
      log: `${LOG}?limit=200`,
      usage: '/api/usage/logs?limit=200',
      history: '/api/usage/history?window=24h&by=provider',
      sessions: '/api/sessions',
      analytics: '/api/analytics/auto-routing?window=24h',
    }))
      await readAll(session, label, path)
  },
  judge({ evidence }) {
    const of = (label: string) => labelled(evidence, label)[0]!
    const json = (label: string) => jsonOf(of(label).body) as Row
    const rows = rowsIn(of('log'))
    const sum = (items: readonly Row[], read: (row: Row) => number | null) =>
      items.reduce((total, row) => total + (read(row) ?? 0), 0)
    const failed = rows.filter(({ state }) => state !== 'completed').length
    const near = (a: unknown, b: number) => typeof a === 'number' && Math.abs(a - b) < 1e-9
    const findings: Finding[] = []
    const add = (label: string, what: string, ok: boolean, id = label) =>
      findings.push(finding(id, ok, `${label}: ${what}`, refs(of(label), of('log'))))
    const input = sum(rows, ({ tokens }) => tokens.input)
    const cost = sum(rows, ({ cost_usd }) => cost_usd)
    add(
      'log',
      `${rows.length} calls, ${failed} of them failed`,
      rows.length === labelled(evidence, 'call').length && failed > 0,
    )
    const usage = rowsIn(of('usage'))
    add(
      'usage',
      `${usage.length} calls, ${sum(usage, ({ tokens }) => tokens.input)} input tokens of ${input}`,
      usage.length === rows.length &&
        sum(usage, ({ tokens }) => tokens.input) === input &&
        near(
          sum(usage, (row) => row.cost_usd),
          cost,
        ),
    )
    const totals = json('history')?.totals ?? {}
    add(
      'history',
      `${totals.calls} calls, ${totals.input_tokens} input tokens, $${totals.cost_usd} of $${cost}`,
      totals.calls === rows.length && totals.input_tokens === input && near(totals.cost_usd, cost),
    )
    const sessions = rowsIn(of('sessions'))
    const withSession = rows.filter(({ session_id }) => session_id !== null)
    add(
      'sessions',
      `${sum(sessions, ({ calls }) => calls)} calls of ${withSession.length}`,
      sum(sessions, ({ calls }) => calls) === withSession.length &&
        near(
          sum(sessions, (row) => row.cost_usd),
          sum(withSession, (row) => row.cost_usd),
        ),
    )
    const analytics = json('analytics')
    add(
      'analytics',
      `${analytics?.total_calls} calls`,
      analytics?.total_calls === rows.length &&
        sum(Object.values(analytics?.strategy_distribution ?? {}), ({ calls }) => calls) === rows.length,
    )
    const named = rows.some(
      ({ id, session_id }) =>
        of('analytics').body.includes(id) ||
        (session_id !== null && of('analytics').body.includes(session_id)),
    )
    add(
      'analytics',
      named ? 'names a call or a session' : 'names no call and no session',
      !named,
      'analytics-names-nobody',
    )
    return findings
  },
} satisfies Check
