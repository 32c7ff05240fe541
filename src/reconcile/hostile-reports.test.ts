// Reports that are endless, compressed, huge, in another encoding or with impossible times: an answer in plain words,
// within bounds.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { table } from '../terminal/table.ts'
import { decodeReport, fetchReport, readReport } from './reports.ts'

const CSV = 'date,model,cost_usd\n2026-11-01,m,1.5\n'

for (const [what, encoding] of [
  ['an endless page', undefined],
  ['a compressed page of 64 MiB', 'gzip'],
] as const)
  test(`${what} of a report ends at the limit`, async (t) => {
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20, ' '))
    const server = createServer((_, response) => {
      response.writeHead(200, { ...(encoding && { 'content-encoding': encoding }) })
      if (encoding) return void response.end(bomb)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(2 ** 16, ' ')));
      }
      response.on('drain', more)
      more()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const range = { since: 0, until: 86_400_000 }
    await assert.rejects(
      fetchReport({ name: 'anthropic', range, key: 'k', baseUrl }),
      /longer than 33554432 bytes/,
    )
  })

test('a report in UTF-8 with a mark, or in UTF-16 with one, is read; other bytes are refused in plain words', () => {
  const utf16 = Buffer.from(`\ufeff${CSV}`, 'utf16le')
  for (const bytes of [Buffer.from(CSV), Buffer.from(`\ufeff${CSV}`), utf16, Buffer.from(utf16).swap16()])
    assert.equal(readReport('openai', decodeReport(bytes)).lines.length, 1)
  assert.throws(() => decodeReport(Buffer.from(CSV, 'utf16le')), /save it as UTF-8/)
})

test('a time that is out of bounds is a problem of the report, and no day', () => {
  for (const start of [1e15, -1e12, 1e300, 'year -29719', '-029719-01-01', '9999-12-31']) {
    const page = JSON.stringify({
      data: [{ start_time: start, starting_at: start, results: [{ amount: { value: 1 } }] }],
    })
    const { lines, problems } = readReport('openai', page)
    assert.deepEqual([lines.length, problems.length > 0], [0, true], String(start))
  }
})

test('a table of 200,000 rows is printed', () => {
  assert.ok(
    table(
      Array.from({ length: 200_000 }, () => ['2026-11-01', 'm']),
      { columns: null, shrink: [] },
    ).length > 0,
  )
})
