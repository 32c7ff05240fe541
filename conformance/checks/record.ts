// LOG, this interface only: the record while a call runs, its attempts, sessions, pages and sums.
// One family, one file.
import { type Check, type Finding, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import { labelled, ref, refs, requestIdOf, requestsOf, where } from '../lookup.ts'
import { at, jsonOf, type Json as Row } from '../reading.ts'
import { LOG, readAll, rowsIn } from '../request-log.ts'
import { DONE, delta, failure } from '../scripted.ts'

export const fromRoutingTime = {
  id: 'LOG-03',
  async exercise(session) {
    const [silent, gate] = [session.nonce(), session.nonce()]
    const tag = session.nonce()
    const script = [{ events: [{ gate: silent }, delta('one'), { gate }, DONE] }]
    const call = await session.openChat('call', {
      stream: true,
      script,
      headers: { 'x-gateway-session-id': tag },
    })
    await session.witness.seen(call.nonce, 5_000)
    await readAll(session, 'while silent', `${LOG}?session_id=${tag}`)
    await session.witness.release(silent)
    await call.until((body) => body.includes('one'), 5_000)
    for (let tries = 0; tries < 60; tries++) {
      const page = await readAll(session, 'while streaming', `${LOG}?session_id=${tag}`)
      if (rowsIn(page)[0]?.state === 'streaming') break
      await session.wait(50)
    }
    await session.witness.release(gate)
    await session.record('afterwards', await call.done)
  },
  judge({ evidence }) {
    const read = (label: string, state: string) => {
      const exchange = labelled(evidence, label).at(-1)
      const rows = rowsIn(exchange)
      const named = rows[0]?.resolved_provider && rows[0]?.resolved_model
      return finding(
        rows.length === 1 && rows[0]!.state === state && Boolean(named),
        `${label}: ${rows.length} record, state ${rows[0]?.state}, ${rows[0] ? where({ provider: rows[0].resolved_provider, model: rows[0].resolved_model }) : 'no road'}`,
        refs(exchange),
      )
    }
    const [after] = labelled(evidence, 'afterwards')
    return [
      read('while silent', 'routed'),
      read('while streaming', 'streaming'),
      finding(
        at(jsonOf(after?.body ?? ''), '/state') === 'completed',
        'afterwards it is completed',
        refs(after),
      ),
    ]
  },
} satisfies Check

export const failuresListAttempts = {
  id: 'LOG-05',
  needs: ['fallback'],
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const exchange = await session.chat('call', { model: route.id, script: [failure(503), failure(500)] })
    await session.record('record', exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence }) {
    const [call, reading] = [labelled(evidence, 'call')[0]!, labelled(evidence, 'record')[0]]
    const record = jsonOf(reading?.body ?? '') as Row | undefined
    const attempts = (record?.attempt_log ?? []) as Row[]
    const entries = requestsOf(evidence, call)
    const said = attempts.map((each) => `${each.provider}/${each.model} ${each.status}`)
    const seen = entries.map((entry) => `${where(entry)} ${entry.answer.status}`)
    const last = entries.at(-1)
    return [
      finding(
        said.join() === seen.join() && attempts.every((each) => each.outcome === 'failed' && each.error_code),
        `attempts on record: ${said.join(', ')}; at the witness: ${seen.join(', ')}`,
        refs(call, reading, ...entries),
      ),
      finding(
        record?.state === 'failed' &&
          record.resolved_provider === last?.provider &&
          record.resolved_model === last?.model,
        `it is ${record?.state} and names ${record?.resolved_provider}/${record?.resolved_model}`,
        refs(reading),
      ),
    ]
  },
} satisfies Check

export const sessionSurvives = {
  id: 'LOG-08',
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const id = `session-${session.nonce()}`
    for (let n = 0; n < 3; n++) await session.chat('call', { headers: { 'x-gateway-session-id': id } })
    await session.chat('other', { headers: { 'x-gateway-session-id': `${id}-other` } })
    await session.wait(300)
    await readAll(session, 'before', `${LOG}?session_id=${id}`)
    await running.stop()
    await running.start()
    await readAll(session, 'after', `${LOG}?session_id=${id}`)
    await readAll(session, 'session', `/api/sessions/${id}`)
  },
  judge({ evidence }) {
    const [before, after, session] = ['before', 'after', 'session'].map(
      (label) => labelled(evidence, label)[0]!,
    )
    const ids = (exchange: Exchange) => rowsIn(exchange).map(({ id }) => id)
    const calls = labelled(evidence, 'call').map(({ headers }) => headers['x-gateway-request-id'])
    return [
      finding(
        ids(before!).length === 3 && calls.every((id) => ids(before!).includes(id)),
        `the filter finds ${ids(before!).length} of 3 calls`,
        refs(before),
      ),
      finding(
        ids(after!).join() === ids(before!).join(),
        `after a restart it finds ${ids(after!).length}`,
        refs(after),
      ),
      finding(
        at(jsonOf(session!.body), '/calls') === 3,
        `the session has ${at(jsonOf(session!.body), '/calls')} calls`,
        refs(session),
      ),
    ]
  },
} satisfies Check

export const pagesWithoutGaps = {
  id: 'LOG-09',
  timeout: 60_000,
  async exercise(session) {
    const id = `pages-${session.nonce()}`
    const headers = { 'x-gateway-session-id': id }
    for (let n = 0; n < 25; n++) await session.chat('call', { headers })
    let cursor: unknown = null
    for (let page = 0; page < 10; page++) {
      const path = `${LOG}?session_id=${id}&limit=7${cursor ? `&cursor=${cursor}` : ''}`
      const exchange = await readAll(session, 'page', path)
      cursor = at(jsonOf(exchange.body), '/next_cursor')
      if (!cursor) break
      await session.chat('meanwhile', { headers })
    }
    for (const bad of [
      'limit=0',
      'limit=201',
      'limit=x',
      'cursor=nonsense',
      'no_such_filter=1',
      'since=yesterday',
      'state=sleeping',
      'status=99',
    ])
      await readAll(session, 'bad', `${LOG}?${bad}`)
  },
  judge({ evidence }) {
    const pages = labelled(evidence, 'page')
    const seen = pages.flatMap(rowsIn).map(({ id }) => id as string)
    const calls = labelled(evidence, 'call').map(({ headers }) => headers['x-gateway-request-id']!)
    const missing = calls.filter((id) => !seen.includes(id))
    const sorted = seen.every((id, index) => index === 0 || id < seen[index - 1]!)
    return [
      finding(
        missing.length === 0 && new Set(seen).size === seen.length && sorted,
        `${pages.length} pages, ${seen.length} rows, ${seen.length - new Set(seen).size} repeated, ${missing.length} missing, newest first`,
        pages.map(ref),
      ),
      ...labelled(evidence, 'bad').map((exchange) =>
        finding(exchange.status === 400, `${exchange.request.path.split('?')[1]}: ${exchange.status}`, [
          ref(exchange),
        ]),
      ),
    ]
  },
} satisfies Check

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
    const add = (label: string, what: string, ok: boolean) =>
      findings.push(finding(ok, `${label}: ${what}`, refs(of(label), of('log'))))
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
    add('analytics', named ? 'names a call or a session' : 'names no call and no session', !named)
    return findings
  },
} satisfies Check

export const keysAreWalls = {
  id: 'KEEP-04',
  needs: ['gateway_keys', 'files'],
  async exercise(session) {
    const { other } = session.running.keys
    if (other === null) return session.untestable('the target has no second key')
    const id = `wall-${session.nonce()}`
    session.note('id', id)
    const exchange = await session.chat('call', { headers: { 'x-gateway-session-id': id } })
    await session.record('record', exchange)
    const requestId = exchange.headers['x-gateway-request-id']
    for (const path of [
      `${LOG}?session_id=${id}`,
      `${LOG}/${requestId}`,
      `${LOG}/${requestId}/artifact`,
      `/api/usage/logs?session_id=${id}`,
      `/api/sessions/${id}`,
      '/api/sessions',
      `/api/statusline?session_id=${id}&model=${session.model}`,
    ])
      for (const [label, key] of [
        ['own', session.running.keys.client],
        ['foreign', other],
      ] as const)
        await session.ask(label, path, { key })
  },
  judge({ evidence, target }) {
    const id = evidence.facts.id as string
    const [call] = labelled(evidence, 'call')
    const requestId = requestIdOf(target, call!) ?? id
    const tells = ({ status, body }: Exchange) =>
      status === 200 && (body.includes(id) || body.includes(requestId))
    const [own] = labelled(evidence, 'own')
    return [
      finding(tells(own!), 'the key that made the call finds it', refs(own)),
      ...labelled(evidence, 'foreign').map((exchange) =>
        finding(
          !tells(exchange),
          `${exchange.request.path.replace(requestId, '{id}')}: another key gets ${exchange.status}${tells(exchange) ? ' and sees the call' : ''}`,
          [ref(exchange)],
        ),
      ),
    ]
  },
} satisfies Check
