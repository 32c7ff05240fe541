// Checks of the list of records: one for each call, pages, filters, sums, and no content.

import { delta, END, scriptedFailure } from '../../dialects/dialect.ts'
import { idsIn, itemsOf, readAnswer, ref, refs } from '../../dialects/lookup.ts'
import { type Exchange, endText, listed, type Step, step } from '../../evidence/evidence.ts'
import { at, jsonOf, type AnyJson as Row } from '../../evidence/reading.ts'
import { family, finding, type Told } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { acceptedCalls, LOG, leaveStream, onRecord, readAll, readLog, rowsIn } from './parts.ts'

const check = family()

const counting = { call: step('call'), before: step('before'), after: step('after') }

/** Maximum number of reads until the log no longer changes. */
const MAX_READINGS = 5

/**
 * Reads the log until a wait of the declared lag adds no record, because a busy machine may write records
 * late.
 */
async function settledLog(session: CheckContext, step: Step): Promise<void> {
  for (let n = 0, known = ''; n < MAX_READINGS; n++) {
    await session.wait(session.target.observability.log!.lag_ms)
    const ids = idsIn(session.target, await readLog(session, step))
      .sort()
      .join()
    if (n > 0 && ids === known) return
    known = ids
  }
}

check('LOG-01', {
  needs: ['log'],
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    await settledLog(session, counting.before)
    await session.chat(counting.call)
    await session.chat(counting.call, { stream: true })
    await session.chat(counting.call, { script: [{ scenario: '400' }] })
    await session.chat(counting.call, { script: [scriptedFailure(500)] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await leaveStream(session, counting.call)
    await settledLog(session, counting.after)
  },
  judge({ evidence, target }) {
    const [before, after] = [counting.before.in(evidence).at(-1)!, counting.after.in(evidence).at(-1)!]
    const calls = counting.call.in(evidence)
    if (!itemsOf(target, after))
      return {
        'log-is-a-list': [
          false,
          'the answer of the log',
          'a list',
          `${endText(after)}, without one`,
          [ref(after)],
        ],
      }
    const known = new Set(idsIn(target, before))
    const added = idsIn(target, after).filter((id) => !known.has(id))
    return {
      'one-record-per-call': [
        added.length === calls.length,
        'records that were added by calls that were answered, streamed, refused by the provider, failed, left',
        String(calls.length),
        String(added.length),
        [...calls.map(ref), ref(after)],
      ],
      'no-record-twice': [
        new Set(added).size === added.length,
        'new ids in the list',
        'each once',
        `more than once: ${listed(added.filter((id, at) => added.indexOf(id) !== at))}`,
        [ref(after)],
      ],
    }
  },
})

const restart = {
  call: step('call'),
  other: step('other'),
  before: step('before'),
  after: step('after'),
  session: step('session'),
}

check('LOG-08', {
  needs: ['restart'],
  timeout: 60_000,
  async exercise(session) {
    const running = await session.another(null)
    const id = `session-${session.nonce()}`
    for (let n = 0; n < 3; n++)
      await onRecord(session, restart.call, { headers: { 'x-gateway-session-id': id } })
    await onRecord(session, restart.other, { headers: { 'x-gateway-session-id': `${id}-other` } })
    await session.wait(300)
    await readAll(session, restart.before, `${LOG}?session_id=${id}`)
    await running.stop()
    await running.start()
    await readAll(session, restart.after, `${LOG}?session_id=${id}`)
    await readAll(session, restart.session, `/api/sessions/${id}`)
  },
  judge({ evidence }) {
    const [before, after, session] = [restart.before, restart.after, restart.session].map(
      (step) => step.in(evidence)[0]!,
    )
    const ids = (exchange: Exchange) => rowsIn(exchange).map(({ id }) => id)
    const calls = acceptedCalls(restart.call.in(evidence)).map(
      ({ headers }) => headers['x-gateway-request-id'],
    )
    return {
      'filter-finds-the-calls': [
        ids(before!).length === 3 && calls.every((id) => ids(before!).includes(id)),
        'calls that the log with session_id finds',
        'the 3 of the session',
        `${endText(before!)}, ${ids(before!).length} calls; not found: ${listed(calls.filter((id) => !ids(before!).includes(id!)).map(String))}`,
        refs(before),
      ],
      'same-after-a-restart': [
        ids(after!).join() === ids(before!).join(),
        'calls that the log with session_id finds after a restart',
        `${ids(before!).length} calls: ${listed(ids(before!))}`,
        `${endText(after!)}, ${ids(after!).length} calls: ${listed(ids(after!))}`,
        refs(after),
      ],
      'session-counts-the-calls': [
        at(jsonOf(session!.body), '/calls') === 3,
        'calls of the session',
        '3',
        JSON.stringify(at(jsonOf(session!.body), '/calls')) ?? 'no member calls',
        refs(session),
      ],
    }
  },
})

const paging = { call: step('call'), meanwhile: step('meanwhile'), page: step('page'), bad: step('bad') }

check('LOG-09', {
  timeout: 60_000,
  async exercise(session) {
    const id = `pages-${session.nonce()}`
    const headers = { 'x-gateway-session-id': id }
    for (let n = 0; n < 25; n++) await onRecord(session, paging.call, { headers })
    let cursor: unknown = null
    for (let page = 0; page < 10; page++) {
      const path = `${LOG}?session_id=${id}&limit=7${cursor ? `&cursor=${cursor}` : ''}`
      const exchange = await readAll(session, paging.page, path)
      cursor = at(jsonOf(exchange.body), '/next_cursor')
      if (!cursor) break
      await onRecord(session, paging.meanwhile, { headers })
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
      await readAll(session, paging.bad, `${LOG}?${bad}`)
  },
  judge({ evidence }) {
    const pages = paging.page.in(evidence)
    const seen = pages.flatMap(rowsIn).map(({ id }) => id as string)
    const calls = acceptedCalls(paging.call.in(evidence)).map(
      ({ headers }) => headers['x-gateway-request-id']!,
    )
    const missing = calls.filter((id) => !seen.includes(id))
    const sorted = seen.every((id, index) => index === 0 || id < seen[index - 1]!)
    return [
      {
        'no-gap-no-repeat': [
          calls.length === 25 && missing.length === 0 && new Set(seen).size === seen.length && sorted,
          `${seen.length} rows of ${pages.length} pages`,
          'each call once, newest first',
          `${seen.length - new Set(seen).size} repeated, ${missing.length} missing, ${sorted ? '' : 'not '}newest first`,
          pages.map(ref),
        ],
      },
      paging.bad.in(evidence).map(
        (exchange): Told => ({
          'bad-parameter-is-400': [
            exchange.status === 400,
            `the answer to ${exchange.request.path.split('?')[1]}`,
            '400',
            endText(exchange),
            [ref(exchange)],
          ],
        }),
      ),
    ]
  },
})

const summing = {
  log: step('log'),
  usage: step('usage'),
  history: step('history'),
  sessions: step('sessions'),
  analytics: step('analytics'),
  call: step('call'),
  settling: step('settling'),
}

check('LOG-10', {
  needs: ['files'],
  timeout: 60_000,
  async exercise(session) {
    await session.another(null)
    const headers = { 'x-gateway-session-id': `sums-${session.nonce()}` }
    for (let n = 0; n < 6; n++) await session.chat(summing.call, { stream: n % 2 === 0, headers })
    await session.chat(summing.call, { script: [scriptedFailure(400)], headers })
    await session.chat(summing.call, { script: [scriptedFailure(500), { scenario: 'plain' }] })
    for (let tries = 0; tries < 50; tries++) {
      const page = await readAll(session, summing.settling, `${LOG}?limit=200`)
      if (rowsIn(page).every(({ completed_at }) => completed_at !== null)) break
      await session.wait(100)
    }
    await readAll(session, summing.log, `${LOG}?limit=200`)
    await readAll(session, summing.usage, '/api/usage/logs?limit=200')
    await readAll(session, summing.history, '/api/usage/history?window=24h&by=provider')
    await readAll(session, summing.sessions, '/api/sessions')
    await readAll(session, summing.analytics, '/api/analytics/auto-routing?window=24h')
  },
  judge({ evidence }) {
    const of = (name: keyof typeof summing) => summing[name].in(evidence)[0]!
    const json = (name: keyof typeof summing) => jsonOf(of(name).body) as Row
    const rows = rowsIn(of('log'))
    const sum = (items: readonly Row[], read: (row: Row) => number | null) =>
      items.reduce((total, row) => total + (read(row) ?? 0), 0)
    const input = sum(rows, ({ tokens }) => tokens.input)
    const cost = sum(rows, ({ cost_usd }) => cost_usd)
    const said = (calls: unknown, tokens: unknown, usd: unknown) =>
      `${calls} calls, ${tokens} input tokens, $${typeof usd === 'number' ? usd.toFixed(9) : usd}`

    const calls = summing.call.in(evidence).length
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
    const equal = (id: string, name: keyof typeof summing, what: string, expected: string, actual: string) =>
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
})

const contents = { call: step('call'), read: step('read'), log: step('log') }

check('LOG-12', {
  needs: ['list'],
  async exercise(session) {
    const words = [`asked${session.nonce()}`, `answered${session.nonce()}`] as const
    session.note('words', words)
    for (const stream of [false, true]) {
      const script = stream ? [{ events: [delta(words[1]), END] }] : [{ say: { text: words[1] } }]
      await session.chat(contents.call, { stream, prompt: `Which way, ${words[0]}?`, script })
    }
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, contents.log)
    for (const path of session.target.capabilities.read_paths)
      await session.ask(contents.read, path, { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const words = evidence.facts.words as string[]
    const said = contents.call.in(evidence).every((each) => readAnswer(each).content.includes(words[1]!))
    const lists = [...contents.log.in(evidence), ...contents.read.in(evidence)]
    const [log] = contents.log.in(evidence)
    return [
      {
        'words-were-asked-and-answered': [
          said && (itemsOf(target, log!)?.length ?? 0) > 0,
          'the words of the calls, before the lists are searched for them',
          'answered, and records in the log',
          `${said ? '' : 'not '}answered, ${itemsOf(target, log!)?.length ?? 0} records`,
          refs(log),
        ],
      },
      lists.map((exchange): Told => {
        const found = words.filter((word) => exchange.body.includes(word))
        return {
          'no-content-in-lists': [
            found.length === 0,
            `words of prompt and answer in ${exchange.request.path}`,
            'none',
            listed(found),
            [ref(exchange)],
          ],
        }
      }),
    ]
  },
})
