// Tests the shell lines that reproduce a failure: curl must send the same request as before.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Exchange } from '../evidence/evidence.ts'
import { exchange as call, evidence } from '../evidence/test-evidence.ts'
import { failuresOf } from './failures.ts'
import { CONTROL, curl, scriptCommand } from './text.ts'

const exchange = (request: Partial<Exchange['request']>, more: Partial<Exchange> = {}): Exchange =>
  ({
    n: 3,
    nonce: null,
    request: { method: 'POST', path: '/v1/x', headers: {}, body: null, ...request },
    ...more,
  }) as Exchange

/** Returns the words that a shell passes to curl. */
function wordsOf(line: string, directory = tmpdir()): string[] {
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', `curl() { for each; do printf '%s\\0' "$each"; done; }\n${line}`],
    {
      cwd: directory,
      env: {
        PATH: process.env.PATH,
        GATEWAY: 'http://gateway',
        KEY_CLIENT: 'sk-1',
        MOCK_OPENAI_KEY: 'sk-2',
      },
      encoding: 'utf8',
    },
  )
  assert.equal(stderr, '', line)
  return stdout.split('\0').slice(0, -1)
}

const TEXTS = [
  'plain',
  "it's",
  '$HOME `id` $(id) \\ "x"',
  'two\nlines',
  '! # ; & | < > *',
  "''",
  "'",
  '-d @/etc/passwd',
]

test('a request passes through the shell unchanged', () => {
  for (const text of TEXTS) {
    const request = { path: `/v1/x?q=${text}`, headers: { 'x-a': text }, body: JSON.stringify({ text }) }
    assert.deepEqual(wordsOf(curl(exchange(request), {}, 'e.json')), [
      ...['-i', '-X', 'POST', `http://gateway/v1/x?q=${text}`, '-H', `x-a: ${text}`],
      ...['--data-raw', JSON.stringify({ text })],
    ])
  }
})

test('every occurrence of a secret is replaced by a variable', () => {
  const headers = { authorization: 'Bearer [secret:key.client]', 'x-b': "'[secret:mock.openai.key]'" }
  const words = wordsOf(curl(exchange({ method: 'GET', headers }), { url: 'http://127.0.0.1:8' }, 'e.json'))
  assert.deepEqual(words, [
    '-i',
    'http://127.0.0.1:8/v1/x',
    '-H',
    'authorization: Bearer sk-1',
    '-H',
    "x-b: 'sk-2'",
  ])
})

test('a call’s script is sent to the mock unchanged, and a call without a script has no command for it', () => {
  const answers = [{ status: 401, body: { error: { message: "it's [secret:mock.openai.key]" } } }]
  const line = scriptCommand(exchange({}, { nonce: '0123456789abcdef', script: answers }))!
  const [, , url, , body] = wordsOf(line)
  assert.equal(url, `${CONTROL}/script/0123456789abcdef`)
  assert.deepEqual(JSON.parse(body!), [{ status: 401, body: { error: { message: "it's sk-2" } } }])
  assert.equal(scriptCommand(exchange({}, { nonce: '0123456789abcdef' })), null)
})

test('a long body is read from the evidence instead of being written into the command', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-curl-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const body = `{"text":"${'x'.repeat(3_000)}"}`
  writeFileSync(join(directory, 'jq'), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 })
  const line = curl(exchange({ body }), {}, 'evidence/FAIL-01.json')
  assert.ok(line.length < 300, line)
  const words = wordsOf(`PATH=.:$PATH\n${line}`, directory)
  assert.equal(words.at(-1), '-r|.exchanges[] | select(.n == 3) | .request.body|evidence/FAIL-01.json|')
})

test('a failure has the commands that repeat it, also if its check judges the calls of another', () => {
  const seen = evidence([call()], [], { check: 'RSP-01' })
  for (const id of ['RSP-01', 'RSP-02']) {
    const findings = [{ id: `${id}/x`, ok: false, what: 'x', see: ['#1'] }]
    const verdict = { id, level: 'MUST', outcome: 'fail', text: 'x', findings }
    const results = { verdicts: [verdict], reproduce: 'waybill conform' }
    const run = { target: { start: { url: 'http://gateway' } } }
    const [failure] = failuresOf({ results, run, evidence: new Map([['RSP-01', seen]]) } as never)
    assert.ok(
      failure!.again.some((line) => line.startsWith('curl ')),
      id,
    )
  }
})
