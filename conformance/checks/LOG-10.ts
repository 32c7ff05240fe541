// LOG-10: The totals of analytics, history, usage logs and sessions equal those of the request log for the same
// window and key.

import { refs } from '../dialects/lookup.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import { jsonOf, type AnyJson as Row } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { LOG, readAll, rowsIn } from './request-log.ts'

const steps = {
  log: step('log'),
  usage: step('usage'),
  history: step('history'),
  sessions: step('sessions'),
  analytics: step('analytics'),
  call: step('call'),
  settling: step('settling'),
}

export const sumsAddUp = {
  id: 'LOG-10',
  needs: ['files'],
  timeout: 60_000,
  async exercise(session) {
    await session.another(null)
    const headers = { 'x-gateway-session-id': `sums-${session.nonce()}` }
    for (let n = 0; n < 6; n++) await session.chat(steps.call, { stream: n % 2 === 0, headers })
    await session.chat(steps.call, { script: [scriptedFailure(400)], headers })
    await session.chat(steps.call, { script: [scriptedFailure(500), { scenario: 'plain' }] })
    for (let tries = 0; tries < 50; tries++) {
      const page = await readAll(session, steps.settling, `${LOG}?limit=200`)
      if (rowsIn(page).every(({ completed_at }) => completed_at !== null)) break
      await session.wait(100)
    }
    await readAll(session, steps.log, `${LOG}?limit=200`)
    await readAll(session, steps.usage, '/api/usage/logs?limit=200')
    await readAll(session, steps.history, '/api/usage/history?window=24h&by=provider')
    await readAll(session, steps.sessions, '/api/sessions')
    await readAll(session, steps.analytics, '/api/analytics/auto-routing?window=24h')
  },
  judge({ evidence }) {
    const of = (name: keyof typeof steps) => steps[name].in(evidence)[0]!
    const json = (name: keyof typeof steps) => jsonOf(of(name).body) as Row
    const rows = rowsIn(of('log'))
    const sum = (items: readonly Row[], read: (row: Row) => number | null) =>
      items.reduce((total, row) => total + (read(row) ?? 0), 0)
    const input = sum(rows, ({ tokens }) => tokens.input)
    const cost = sum(rows, ({ cost_usd }) => cost_usd)
    const said = (calls: unknown, tokens: unknown, usd: unknown) =>
      `${calls} calls, ${tokens} input tokens, $${typeof usd === 'number' ? usd.toFixed(9) : usd}`

    const calls = steps.call.in(evidence).length
    const failed = rows.filter(({ state }) => state !== 'completed').length
    const usage = rowsIn(of('usage'))
    const totals = json('history')?.totals ?? {}
    const sessions = rowsIn(of('sessions'))
    const withSession = rows.filter(({ session_id }) => session_id !== null)
    const inSessions = (all: readonly Row[], count: number) =>
      `${count} calls, $${sum(all, ({ cost_usd }) => cost_usd).toFixed(9)}`
    const analytics = json('analytics')
    const byStrategy = sum(Object.values(analytics?.strategy_distribution ?? {}), ({ calls }) => calls)
    const ids = rows.flatMap(({ id, session_id }) => [id, session_id]).filter((id) => id !== null)
    const named = ids.filter((id) => of('analytics').body.includes(id))

    /** Compares two totals as a user sees them. */
    const equal = (id: string, name: keyof typeof steps, what: string, expected: string, actual: string) =>
      finding(id, actual === expected, what, { expected, actual }, refs(of(name), of('log')))
    return [
      equal(
        'log',
        'log',
        'calls in the request log',
        `${calls}, some failed`,
        `${rows.length}, ${failed > 0 ? 'some' : 'none'} failed`,
      ),
      equal(
        'usage',
        'usage',
        'sums of the usage logs',
        said(rows.length, input, cost),
        said(
          usage.length,
          sum(usage, ({ tokens }) => tokens.input),
          sum(usage, ({ cost_usd }) => cost_usd),
        ),
      ),
      equal(
        'history',
        'history',
        'totals of the history',
        said(rows.length, input, cost),
        said(totals.calls, totals.input_tokens, totals.cost_usd),
      ),
      equal(
        'sessions',
        'sessions',
        'sums of the sessions',
        inSessions(withSession, withSession.length),
        inSessions(
          sessions,
          sum(sessions, ({ calls }) => calls),
        ),
      ),
      equal(
        'analytics',
        'analytics',
        'calls in the analytics',
        `${rows.length}, and by strategy ${rows.length}`,
        `${analytics?.total_calls}, and by strategy ${byStrategy}`,
      ),
      equal(
        'analytics-names-nobody',
        'analytics',
        'calls and sessions that the analytics name',
        'none',
        listed(named),
      ),
    ]
  },
} satisfies Check
