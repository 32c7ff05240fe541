// Measures the size of a full shared log, and the time of its reads: writes the given number of calls, spread
// over 30 days, to a separate PostgreSQL, and times the reads that operators wait for. `npm run bench --
// shared-log ROWS` prints one table.
import { execFileSync } from 'node:child_process'
import { openCallReads } from '../../src/store/postgres/call-reads.ts'
import { openLink } from '../../src/store/postgres/link.ts'
import { dropEmptySessions, dropOldDays } from '../../src/store/postgres/retention.ts'
import { createTables, lowestId, makePartitions, SHARED_LABELS } from '../../src/store/postgres/schema.ts'
import { openSessionReads } from '../../src/store/postgres/session-reads.ts'
import { openSpanReads } from '../../src/store/postgres/span-reads.ts'
import { LATENCY_STEP, SUMS } from '../../src/store/postgres/sums.ts'
import { SUM_COLUMNS } from '../../src/store/sql/usage-sum.ts'
import { startPostgres } from '../../src/test/test-postgres.ts'

const ROWS = Number(process.argv[2] ?? 1_000_000)
const DAYS = 30
const DAY = 86_400_000
const today = Math.floor(Date.now() / DAY) * DAY
const days = Array.from({ length: DAYS }, (_, n) => today - n * DAY)

const postgres = await startPostgres({ shared_buffers: '512MB', max_wal_size: '4GB', work_mem: '64MB' })
const link = openLink({ url: await postgres.database('bench'), tls: 'verify' }, 'bench')
const time = async <Answer>(what: () => Promise<Answer>): Promise<[number, Answer]> => {
  const began = performance.now()
  const answer = await what()
  return [performance.now() - began, answer]
}
const median = async (what: () => Promise<unknown>): Promise<string> => {
  const times: number[] = []
  for (let n = 0; n < 5; n++) times.push((await time(what))[0])
  return `${times.sort((a, b) => a - b)[2]!.toFixed(1)} ms (${times[0]!.toFixed(1)}–${times[4]!.toFixed(1)})`
}
const MINUTES = 1_800_000

try {
  await createTables(link)
  await makePartitions(link, days)
  const perDay = Math.round(ROWS / DAYS)
  const began = performance.now()
  for (const day of days) {
    // Calls like those of agents: 120 concurrent sessions, each with 50 calls of one key at one gateway; 40
    // keys, 20 models, and one failure in 50 calls.
    await link.query(
      `INSERT INTO waybill.calls (id, instance, rev, created_at, completed_at, state, endpoint, requested_model,
          resolved_provider, resolved_model, picked_provider, picked_model, response_model, route, strategy, tier, decision,
          session_id, purpose, key_name, stream, status, attempts, fallbacks, latency_ms, ttft_ms, tokens_input,
          tokens_output, tokens_cached_input, tokens_source, cost_usd, cache, replayed, attempt_log, price)
        SELECT (lpad(to_hex(t), 12, '0') || '7' || substr(md5(n::text || t::text), 1, 3) || 'a' || substr(md5(t::text || n::text), 1, 15))::uuid,
          'i' || n % 3, 1, t, t + 2000, CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END, '/v1/chat/completions',
          'auto', 'provider-' || n % 4, 'model-' || n % 20, 'provider-' || n % 4, 'model-' || n % 20, 'model-' || n % 20, 'auto', 'priority',
          'balanced', '{"cause":"priority","skipped":[]}', 's-' || ${day} / 86400000 || '-' || n % 120 || '-' || n / 6000, 'main', 'key-' || n % 40, 1, 200, 1,
          (n % 97 = 0)::int, 500 + n % 9000, 200 + n % 900, 4000 + n % 9000, 300 + n % 500, 3000, 'reported', 0.01 + (n % 100) / 1e4,
          'BYPASS', 0, json_build_array(json_build_object('n', 1, 'provider', 'provider-' || n % 4, 'model', 'model-' || n % 20,
            'started_at', '2026-11-22T00:00:00.000Z', 'ended_at', '2026-11-22T00:00:02.000Z', 'status', 200, 'outcome', 'answered', 'error_code', null,
            'tokens', json_build_object('input', 4000, 'output', 300, 'source', 'reported'), 'cost_usd', 0.01)),
          '{"source":"table","model":"model","rates":{"input":1.25,"output":10,"cached_input":0.125}}'
        FROM (SELECT n, ${day} + n::bigint * 86400000 / ${perDay} AS t FROM generate_series(0, ${perDay - 1}) AS n) AS g`,
      [],
      MINUTES,
    )
    await link.query(
      `INSERT INTO waybill.usage_hours (hour, instance, series, ${SHARED_LABELS.join(', ')}, ${SUM_COLUMNS.join(', ')})
         SELECT created_at / 3600000, instance, md5(json_build_array(${SHARED_LABELS.join(', ')})::text)::uuid, ${SHARED_LABELS.join(', ')}, ${SUMS.join(', ')}
         FROM waybill.calls WHERE id >= '${lowestId(day)}' AND id < '${lowestId(day + DAY)}' GROUP BY 1, 2, 3, ${SHARED_LABELS.map((_, n) => n + 4).join(', ')}`,
      [],
      MINUTES,
    )
    await link.query(
      `INSERT INTO waybill.latency_hours SELECT created_at / 3600000, instance, resolved_provider, key_name, ${LATENCY_STEP}, count(*)
         FROM waybill.calls WHERE id >= '${lowestId(day)}' AND id < '${lowestId(day + DAY)}' GROUP BY 1, 2, 3, 4, 5`,
      [],
      MINUTES,
    )
    await link.query(
      `INSERT INTO waybill.sessions SELECT session_id, key_name, instance, min(id::text)::uuid, sum(cost_usd) FROM waybill.calls
         WHERE id >= '${lowestId(day)}' AND id < '${lowestId(day + DAY)}' GROUP BY 1, 2, 3`,
      [],
      MINUTES,
    )
    console.error(
      `${new Date(day).toISOString().slice(0, 10)} ${Math.round((performance.now() - began) / 1000)} s`,
    )
  }
  await link.query('ANALYZE waybill.calls', [], MINUTES)
  await link.query('ANALYZE waybill.sessions', [], MINUTES)
  const filled = (performance.now() - began) / 1000
  const [{ rows, bytes, sums }] = (await link.query<{ rows: number; bytes: number; sums: number }>(
    `SELECT (SELECT count(*) FROM waybill.calls) AS rows, (SELECT count(*) FROM waybill.usage_hours) AS sums,
       (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relkind = 'r') AS bytes`,
    [],
    MINUTES,
  )) as [{ rows: number; bytes: number; sums: number }]
  const { list, find } = openCallReads(link)
  const { history, routing } = openSpanReads(link)
  const { sessions, session, dearest } = openSessionReads(link)
  const month = { since: today - 29 * DAY, until: today + DAY }
  const [newest] = (await list({}, { limit: 1 })).data
  const deep = (await list({ until: today - 20 * DAY }, { limit: 1 })).data[0]!
  const measured: [string, string][] = [
    ['a page of 50, newest first', await median(() => list({}, { limit: 50 }))],
    [
      'a page of 200, twenty days back',
      await median(() => list({ until: today - 20 * DAY }, { limit: 200 })),
    ],
    ['50 of one model', await median(() => list({ model: 'model-7' }, { limit: 50 }))],
    ['50 of one key', await median(() => list({ key_name: 'key-7' }, { limit: 50 }))],
    ['50 that failed', await median(() => list({ status: 'error' }, { limit: 50 }))],
    ['of a model that there is none of', await median(() => list({ model: 'none' }, { limit: 50 }))],
    ['one call', await median(() => find(deep.id))],
    ['history of 30 days, by hour and model', await median(() => history(month, 3_600_000, 'model'))],
    ['history of 30 days, by day', await median(() => history(month, DAY))],
    [
      'history of 24 hours, by minute',
      await median(() => history({ since: today - DAY, until: today }, 60_000)),
    ],
    ['routing shares of 30 days', await median(() => routing(month))],
    ['50 sessions', await median(() => sessions({ limit: 50 }))],
    ['the 50 dearest sessions', await median(() => dearest(50))],
    ['one session', await median(() => session(newest!.session_id!))],
  ]
  const [dropped, names] = await time(() => dropOldDays(link, Date.now(), DAYS - 2))
  const [forgotten] = await time(() => dropEmptySessions(link, Date.now(), DAYS - 2))
  console.log(
    `| ${rows.toLocaleString('en-US')} calls in ${DAYS} days, ${sums.toLocaleString('en-US')} sums, ${(bytes / 2 ** 30).toFixed(1)} GiB (${Math.round(bytes / rows)} bytes a call), filled in ${Math.round(filled)} s | |`,
  )
  console.log('|---|---|')
  for (const [what, took] of measured) console.log(`| ${what} | ${took} |`)
  console.log(`| dropping the oldest ${names.length} days | ${dropped.toFixed(0)} ms |`)
  console.log(`| forgetting the sessions that have no calls any more | ${forgotten.toFixed(0)} ms |`)
  console.log(execFileSync('nproc', { encoding: 'utf8' }).trim(), 'cores')
} finally {
  await link.close()
  await postgres.end()
}
