import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { agedRecordings, verifyRecordings } from './verify.ts'

const body = '{"id":"msg_REDACTED_1","content":"xx xxx"}'
const head = {
  format: 1,
  provider: 'openai',
  endpoint: 'chat/completions',
  request: { method: 'POST', path: '/v1/chat/completions', model: null, stream: null, scenario: 'plain' },
  response: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: 'a.body.json',
    chunks: [[body.length, 5]],
  },
  origin: 'recorded',
  date: '2026-11-21',
  api_version: 'v1',
  shape: 'a test',
  redaction: { version: 1, replaced: 4, looked_for: 3, found: 0 },
}

/** A directory with these files below openai/. */
function folder(t: TestContext, files: Record<string, unknown>): string {
  const dir = mkdtempSync(join(tmpdir(), 'recordings-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'openai'))
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, 'openai', name), typeof content === 'string' ? content : JSON.stringify(content))
  return dir
}

test('a redacted recording of a live exchange is in order', (t) => {
  assert.deepEqual(verifyRecordings(folder(t, { 'a.json': head, 'a.body.json': body })), [])
})

const { redaction: _, ...bare } = head
const { date: __, ...dateless } = head
const key = `sk-${'proj'}-${'a1'.repeat(12)}`
const long = body.length + 1
/** What is wrong with a head or a body, and the line that says so. */
const wrong: [sentence: string, head: unknown, body: string, line: RegExp][] = [
  [
    'no proof of redaction (REC-01)',
    bare,
    body,
    /^openai\/a\.json: redaction: is missing.*; record or import it again$/,
  ],
  ['no date (REC-04)', dateless, body, /^openai\/a\.json: date: /],
  ['an unknown origin (REC-04)', { ...head, origin: 'found' }, body, /^openai\/a\.json: origin: /],
  [
    'a prompt left in the answer (REC-01)',
    head,
    body.replace('xx xxx', 'go now'),
    /^openai\/a\.json: a\.body\.json is not redacted at byte 34; record or import it again$/,
  ],
  [
    'an id left in the answer (REC-01)',
    head,
    body.replace('REDACTED_1', 'k3jf93lslw'),
    /^openai\/a\.json: a\.body\.json is not redacted at byte 11;/,
  ],
  [
    'an id left in a header (REC-01)',
    { ...head, response: { ...head.response, headers: { 'x-request-id': 'req_93kf03' } } },
    body,
    /^openai\/a\.json: response\.headers: x-request-id is not redacted;/,
  ],
  [
    'a header that names an account (REC-01)',
    { ...head, response: { ...head.response, headers: { 'set-cookie': 'a=b' } } },
    body,
    /set-cookie is no header that a recording may keep; take it out$/,
  ],
  [
    'a credential (REC-01)',
    { ...head, note: key },
    body,
    /^openai\/a\.json: holds what looks like a credential at byte \d+; redact it$/,
  ],
  [
    'chunks that do not add up (REC-03)',
    { ...head, response: { ...head.response, chunks: [[long, 5]] } },
    body,
    /^openai\/a\.json: response\.chunks: add up to 43 bytes, but a\.body\.json has 42; /,
  ],
]
for (const [sentence, wrongHead, wrongBody, line] of wrong)
  test(`found: ${sentence}`, (t) => {
    const problems = verifyRecordings(folder(t, { 'a.json': wrongHead, 'a.body.json': wrongBody }))
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0]!, line)
  })

test('found: a body without a head, and two heads for one request', (t) => {
  const problems = verifyRecordings(
    folder(t, { 'a.json': head, 'a.body.json': body, 'b.json': head, 'old.sse': 'data: 1\n\n' }),
  )
  assert.deepEqual(problems, [
    'openai/old.sse: no recording names this file as its body; delete it or write its head',
    'openai/b.json: request: answers the same request as openai/a.json; change its scenario or order, or delete it',
  ])
  const second = { ...head, request: { ...head.request, order: 2 } }
  assert.deepEqual(verifyRecordings(folder(t, { 'a.json': head, 'a.body.json': body, 'b.json': second })), [])
})

test('what is older than so many months is named, and what is not is not', (t) => {
  const dir = folder(t, { 'a.json': head, 'a.body.json': body })
  assert.deepEqual(agedRecordings(dir, 6, new Date('2027-05-21T00:00:00Z')), [])
  assert.deepEqual(agedRecordings(dir, 6, new Date('2027-05-22T00:00:00Z')), [
    'openai/a.json: is of 2026-11-21, more than 6 months old; record it again',
  ])
})
