// The last comparison with a bill. The command writes it, and the gateway shows it without fetching anything.
import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { type Comparison, readLastReports, writeLastReport } from './bill.ts'

const amount = (usd: number) => ({ usd, input: 1, output: 1, calls: 1 })
const line = (day: string, here: number | null, there: number | null): Comparison => ({
  ...{ day, model: 'm', verdict: here === there ? 'equal' : here === null ? 'only_there' : 'differs' },
  here: here === null ? null : amount(here),
  there: there === null ? null : amount(there),
  likely: here === there ? null : 'a reason',
})
const about = { report: 'openai', provider: 'alpha', since: '2026-11-01', until: '2026-11-04', problems: [] }
const at = new Date('2026-11-05T00:00:00Z')

test('the latest comparison for each report is stored without matching lines, and shown in /api/health', async (t) => {
  const data = temporaryDirectory(t)
  const gateway = await testGateway(t, { data })
  const bills = async () => (await gateway.get('/api/health')).json.bills
  assert.deepEqual(await bills(), [])
  writeLastReport(data, { ...about, lines: [line('2026-11-01', 1, 2)] }, at)
  writeLastReport(data, { ...about, report: 'anthropic', lines: [line('2026-11-01', 1, 1)] }, at)
  const lines = [line('2026-11-01', 1, 1), line('2026-11-02', null, 3), line('2026-11-03', 4, 5)]
  writeLastReport(data, { ...about, problems: ['two currencies'], lines }, at)
  const [anthropic, openai, ...more] = await bills()
  assert.deepEqual(more, [])
  assert.deepEqual([anthropic.report, anthropic.equal, anthropic.lines], ['anthropic', 1, 1])
  assert.deepEqual(openai, {
    ...{ ...about, problems: ['two currencies'], compared_at: at.toISOString(), lines: 3, equal: 1 },
    differences: [
      {
        day: '2026-11-02',
        model: 'm',
        verdict: 'only_there',
        here_usd: null,
        there_usd: 3,
        likely: 'a reason',
      },
      { day: '2026-11-03', model: 'm', verdict: 'differs', here_usd: 4, there_usd: 5, likely: 'a reason' },
    ],
  })
  assert.equal(statSync(join(data, 'reconciled.json')).mode & 0o777, 0o600)
  assert.equal(gateway.received(), 0)
})

test('a foreign file counts as missing, and only the first hundred differences are stored', (t) => {
  const data = temporaryDirectory(t)
  for (const text of ['', '{', '[]', '[{"report": 1}]', 'null']) {
    writeFileSync(join(data, 'reconciled.json'), text)
    assert.deepEqual(readLastReports(data), [], text)
  }
  const lines = Array.from({ length: 300 }, (_, n) => line(`2026-11-${n}`, n, n + 1))
  writeLastReport(data, { ...about, lines }, at)
  const [report] = readLastReports(data)
  assert.deepEqual([report!.lines, report!.equal, report!.differences.length], [300, 0, 100])
})
