// Tests the ledger alone: its numbering and its maximum size.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createLedgerBook, openEntry } from './ledger-book.ts'
import { createSecrets } from './secrets.ts'

const entry = (text: string) =>
  openEntry({
    kind: 'inference',
    at: 0,
    provider: 'openai',
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    endpoint: 'chat/completions',
    wants: { model: 'm', stream: false, usage: false, tools: false },
    nonce: null,
    verdict: { credential: 'match', problems: [], refused: null },
    canaries: [],
    headers: {},
    text,
    body_sha256: '',
    shown: null,
    answer: { from: 'plain', status: 200, headers: {}, parts: [] },
  })

test("the ledger's size is bounded, and its counters show the number of dropped entries", () => {
  const book = createLedgerBook(createSecrets([]), 1024 * 1024)
  for (let i = 0; i < 2000; i++) book.enter(entry('x'.repeat(10_000)))
  const kept = book.entries()
  assert.ok(kept.length < 600, `${kept.length} entries are kept`)
  assert.equal(kept.at(-1)!.n, 2000)
  assert.equal(kept[0]!.n, 2000 - kept.length + 1)
  assert.deepEqual(
    book.entries(1998).map(({ n }) => n),
    [1999, 2000],
  )
})

test('a body without JSON is stored as text, and a missing body as null', () => {
  const book = createLedgerBook(createSecrets([]))
  for (const text of ['', '{"a":[1]}', 'no JSON']) book.enter(entry(text))
  assert.deepEqual(
    book.entries().map(({ body }) => body),
    [null, { a: [1] }, 'no JSON'],
  )
})
