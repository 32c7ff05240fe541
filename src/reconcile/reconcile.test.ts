// Reports are read completely or not at all, and lines that cannot be compared are named.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Comparison, compareBills, type Line } from './bill.ts'
import { fetchReport, REPORTS, type ReportName, readReport } from './reports.ts'
import { type BilledDay, reportServer } from './test-reports.ts'

const DAY = 86_400_000
const since = Date.UTC(2026, 10, 1)
const dayAt = (n: number): string => new Date(since + n * DAY).toISOString().slice(0, 10)
const range = { since, until: since + 20 * DAY }
const billed: BilledDay[] = Array.from({ length: 20 }, (_, n) => ({
  day: dayAt(n),
  model: 'model-a',
  usd: 1.5 + n,
  input: 1_000 * n,
  output: 10 * n,
}))
const line = (of: BilledDay): Line => ({ ...of, calls: null })
const named = (compared: readonly Comparison[]) =>
  compared
    .filter(({ verdict }) => verdict !== 'equal')
    .map(({ day, model, verdict, likely }) => [day, model, verdict, likely])

for (const name of Object.keys(REPORTS) as ReportName[])
  test(`the report of ${name} is fetched page by page and equals the record`, async (t) => {
    const { url, asked } = await reportServer(t, billed)
    const bill = await fetchReport({ name, range, key: 'key', baseUrl: url })
    assert.deepEqual(bill.problems, [])
    assert.deepEqual(named(compareBills({ lines: billed.map(line), problems: [] }, bill, 0)), [])
    assert.ok(asked.length >= 6 && asked.every((each) => each.startsWith('GET ')))
    await assert.rejects(
      fetchReport({ name, range, key: 'wrong', baseUrl: url }),
      /refused its report with status 401/,
    )
  })

test('a repeated page token, a truncated page or a missing server is an error', async (t) => {
  const loop = await reportServer(t, billed, ({ pathname }) =>
    pathname.includes('cost') ? { data: [], has_more: true, next_page: 'again' } : null,
  )
  const of = (baseUrl: string) => fetchReport({ name: 'anthropic', range, key: 'key', baseUrl })
  await assert.rejects(of(loop.url), /page to page without an end/)
  const cut = await reportServer(t, billed, () => '{"data": [{"starting_at": "2026-11-')
  await assert.rejects(of(cut.url), /ends in the middle/)
  await assert.rejects(of('http://127.0.0.1:9'), /does not answer/)
})

test('a saved report may be pages of JSON or CSV, and unexpected content is reported', () => {
  const page = (results: object[], more = false) => ({
    data: [{ start_time: since / 1000, results }],
    has_more: more,
    next_page: more ? 'p' : null,
  })
  const cost = (value: unknown, currency = 'usd') => ({
    line_item: 'gpt-5.4, input',
    amount: { value, currency },
  })
  const read = (json: unknown) => readReport('openai', JSON.stringify(json))
  assert.deepEqual(read([page([cost(1)], true), page([cost(2)])]).problems, [])
  assert.equal(read([page([cost(1)], true), page([cost(2)])]).lines.length, 2)
  assert.deepEqual(read(page([cost(1)], true)).problems, [
    'the report has further pages, which are not in the file',
  ])
  const euro = read(page([cost(1), cost(3, 'eur')]))
  assert.equal(euro.lines.length, 1)
  assert.match(euro.problems.join(), /in EUR, not in US dollars/)
  assert.match(read(page([cost('much')])).problems.join(), /no number/)
  assert.throws(() => readReport('openai', '{"data": ['), /ends in the middle/)
  assert.throws(() => readReport('openai', '{"error": 1}'), /no `data`/)

  const csv = readReport(
    'openrouter',
    'date,model,cost_usd,currency\n2026-11-01T23:30:00-05:00,"a, b",0.5,USD\n2026-11-02,c',
  )
  assert.deepEqual(
    csv.lines.map(({ day, model, usd }) => [day, model, usd]),
    [['2026-11-02', 'a, b', 0.5]],
  )
  assert.match(csv.problems.join(), /too few cells/)
  assert.throws(() => readReport('openrouter', 'a,b\n1,2'), /needs columns/)
})

test('the cost of a web search is a line of its own, not of the model that searched', () => {
  const cost = (cost_type: string) => ({ model: 'm', amount: '100', currency: 'USD', cost_type })
  const starting_at = new Date(since).toISOString()
  const data = [{ starting_at, results: [cost('tokens'), cost('web_search'), cost('code_execution')] }]
  const { lines } = readReport('anthropic', JSON.stringify({ data }))
  assert.deepEqual(
    lines.map(({ model, usd }) => [model, usd]),
    [
      ['m', 1],
      ['(web_search)', 1],
      ['m', 1],
    ],
  )
})

test('days are in UTC, whatever the machine’s time zone', (t) => {
  const { TZ } = process.env
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
  const csv = 'date,model,cost_usd\n2026-11-01T23:30:00Z,a,1\n2026-11-02,a,2\n2026-11-02T00:30:00+14:00,a,4'
  for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/Los_Angeles']) {
    process.env.TZ = zone
    assert.deepEqual(
      readReport('openrouter', csv).lines.map(({ day, usd }) => [day, usd]),
      [
        ['2026-11-01', 1],
        ['2026-11-02', 2],
        ['2026-11-01', 4],
      ],
      zone,
    )
  }
})

test('each kind of difference is reported with its likely reason', () => {
  const day = dayAt(0)
  const one = (
    model: string,
    usd: number,
    input: number | null = 1_000,
    output: number | null = 100,
  ): Line => ({
    day,
    model,
    usd,
    input,
    output,
    calls: null,
  })
  const reason = (here: Line[], there: Line[]) =>
    named(compareBills({ lines: here, problems: [] }, { lines: there, problems: [] }, 0.001))
      .map(([, , verdict, likely]) => `${verdict}: ${likely}`)
      .join('; ')
  assert.equal(reason([one('a', 2)], [one('a-20260101', 2)]), '')
  assert.match(reason([one('a', 2)], [one('a', 1)]), /differs: tier \(flex or batch\)/)
  assert.match(reason([one('a', 2)], [one('a', 2.2)]), /differs: region/)
  assert.match(reason([one('a', 2)], [one('a', 3, 2_000, 150)]), /differs: calls past the gateway/)
  assert.match(reason([one('a', 2)], [one('a', 1, 500, 50)]), /differs: the provider counted fewer/)
  assert.match(reason([one('a', 2)], [one('a', 2.7)]), /differs: a part of the calls/)
  assert.match(reason([], [one('b', 2)]), /only_there: calls past the gateway/)
  assert.match(
    reason([one('a', 2)], [one('b', 2)]),
    /only_here: the provider billed no such model.*only_there/,
  )
  assert.match(reason([one('a', 2)], []), /only_here: the report has no such day/)
})
