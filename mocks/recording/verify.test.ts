// Tests the problems that verification finds: wrong metadata, and private text left in live answers. Over 250
// lines, because its cases are tables.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { agedRecordings, NOTE, verifyRecordings } from './verify.ts'

const body = '{"id":"msg_REDACTED_1","content":"xx xxx"}'
const head = {
  format: 1,
  provider: 'openai',
  endpoint: 'chat/completions',
  request: { method: 'POST', path: '/v1/chat/completions', model: null, stream: null, scenario: 'plain' },
  response: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: 'chat-completions-plain.body.json',
    chunks: [[body.length, 5]],
  },
  origin: 'recorded',
  date: '2026-11-21',
  api_version: 'v1',
  shape: `imported from a HAR file, sha256 ${'0'.repeat(16)}, exchange 1, sha256 ${'1'.repeat(16)}`,
  redaction: { version: 1, replaced: 4, looked_for: 3, found: 0 },
}

/** Creates a directory with these files below openai/. */
function folder(t: TestContext, files: Record<string, unknown>): string {
  const dir = mkdtempSync(join(tmpdir(), 'recordings-'))
  t.after(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'openai'))
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(dir, 'openai', name), typeof content === 'string' ? content : JSON.stringify(content))
  return dir
}

test('a redacted recording of a live exchange passes verification', (t) => {
  assert.deepEqual(
    verifyRecordings(
      folder(t, { 'chat-completions-plain.json': head, 'chat-completions-plain.body.json': body }),
    ),
    [],
  )
})

const { redaction: _, ...bare } = head
const { date: __, ...dateless } = head
const key = `sk-${'proj'}-${'a1'.repeat(12)}`
const long = body.length + 1
/** Mistakes in metadata or bodies, and the line that reports each. */
const wrong: [sentence: string, head: unknown, body: string, line: RegExp][] = [
  [
    'no proof of redaction (REC-01)',
    bare,
    body,
    /^openai\/chat-completions-plain\.json: redaction: is missing.*; record or import it again$/,
  ],
  ['no date (REC-04)', dateless, body, /^openai\/chat-completions-plain\.json: date: /],
  [
    'an unknown origin (REC-04)',
    { ...head, origin: 'found' },
    body,
    /^openai\/chat-completions-plain\.json: origin: /,
  ],
  [
    'a prompt left in the answer (REC-01)',
    head,
    body.replace('xx xxx', 'go now'),
    /^openai\/chat-completions-plain\.json: chat-completions-plain\.body\.json is not redacted at byte 34; record or import it again$/,
  ],
  [
    'an id left in the answer (REC-01)',
    head,
    body.replace('REDACTED_1', 'k3jf93lslw'),
    /^openai\/chat-completions-plain\.json: chat-completions-plain\.body\.json is not redacted at byte 11;/,
  ],
  [
    'an id left in a header (REC-01)',
    { ...head, response: { ...head.response, headers: { 'x-request-id': 'req_93kf03' } } },
    body,
    /^openai\/chat-completions-plain\.json: response\.headers: x-request-id is not redacted;/,
  ],
  [
    'a header that names an account (REC-01)',
    { ...head, response: { ...head.response, headers: { 'set-cookie': 'a=b' } } },
    body,
    /set-cookie is not a header that a recording may keep; remove it$/,
  ],
  [
    'a credential (REC-01)',
    { ...head, note: key },
    body,
    /^openai\/chat-completions-plain\.json: contains what looks like a credential \(key of a model provider\) at byte \d+; redact it$/,
  ],
  [
    'chunks that do not add up (REC-03)',
    { ...head, response: { ...head.response, chunks: [[long, 5]] } },
    body,
    /^openai\/chat-completions-plain\.json: response\.chunks: add up to 43 bytes, but chat-completions-plain\.body\.json has 42; /,
  ],
]
for (const [sentence, wrongHead, wrongBody, line] of wrong)
  test(`verification detects ${sentence}`, (t) => {
    const problems = verifyRecordings(
      folder(t, {
        'chat-completions-plain.json': wrongHead,
        'chat-completions-plain.body.json': wrongBody,
      }),
    )
    assert.ok(
      problems.some((problem) => line.test(problem)),
      problems.join('\n'),
    )
  })

/** Edits of metadata: each change is found although everything else is correct. */
const text = 'Dear Ada, the harbour is closed'
const token = 'q7Xc91kZpR44mTn0'
const changed: [sentence: string, change: object, line: RegExp][] = [
  ['a prompt in note', { note: text }, /: note: /],
  ['a prompt after the sentence of an import', { note: `${NOTE} ${text}` }, /: note: /],
  ['a token in shape', { shape: `imported from ${token}.har` }, /: shape: /],
  ['a token after a valid shape', { shape: `${head.shape} ${token}` }, /: shape: /],
  ['a private host in shape', { shape: 'a live exchange with llm.acme.internal' }, /: shape: /],
  [
    'an e-mail address in path',
    { request: { ...head.request, path: '/v1/ada@acme.example/chat' } },
    /: request\.path: /,
  ],
  [
    'a project in path',
    { request: { ...head.request, path: '/v1/projects/acme-prod/chat' } },
    /: request\.path: /,
  ],
  [
    'a person in path',
    { request: { ...head.request, path: '/v1/ada/chat/completions' } },
    /: request\.path: /,
  ],
  [
    'an id in path',
    { request: { ...head.request, path: '/v1/files/file-8kVb7TqXy2LmN4pQ' } },
    /: request\.path: /,
  ],
  ['an e-mail address in endpoint', { endpoint: 'v1/ada@acme.example' }, /: endpoint: /],
  [
    'a tuned model’s owner',
    { request: { ...head.request, model: 'ft:gpt-4o:acme::a1b2c3' } },
    /: request\.model: /,
  ],
  [
    'an account as model',
    { request: { ...head.request, model: 'arn:aws:bedrock:123456789012:x' } },
    /: request\.model: /,
  ],
  ['a prompt in scenario', { request: { ...head.request, scenario: text } }, /: request\.scenario: /],
  ['a token in scenario', { request: { ...head.request, scenario: token } }, /: request\.scenario: /],
  ['a token in api_version', { api_version: token }, /: api_version: /],
  [
    'a private name among the fields',
    { request: { ...head.request, fields: { acme_customer: 4 } } },
    /: request\.fields: /,
  ],
  ['a live exchange that says it is authored', { origin: 'authored' }, /: origin: /],
  ['a live exchange that says it is synthetic', { origin: 'synthetic' }, /: origin: /],
]
for (const [sentence, change, line] of changed)
  test(`verification detects ${sentence} (REC-01)`, (t) => {
    const problems = verifyRecordings(
      folder(t, {
        'chat-completions-plain.json': { ...head, ...change },
        'chat-completions-plain.body.json': body,
      }),
    )
    assert.ok(
      problems.some((problem) => line.test(problem)),
      problems.join('\n') || 'nothing was found',
    )
    assert.doesNotMatch(problems.join('\n'), /Ada|acme|q7Xc91/i, 'a problem repeats what must not be told')
  })

/** Live exchanges with the original answer, from which the marks of live exchanges are removed one by one. */
const unmarked: [sentence: string, head: object, body: string][] = [
  ['the proof of redaction', { origin: 'authored' }, body.replace('xx xxx', 'go now')],
  ['only its source', { origin: 'authored', redaction: undefined }, body.replace('xx xxx', 'go now')],
  [
    'only its placeholders',
    { origin: 'authored', redaction: undefined, shape: 'by hand' },
    body.replace('xx xxx', 'go now'),
  ],
  [
    'only the sizes of its fields',
    {
      origin: 'synthetic',
      redaction: undefined,
      shape: 'by hand',
      request: { ...head.request, fields: { model: 4 } },
    },
    body.replace('xx xxx', 'go now').replace('REDACTED_1', 'k3jf93lslw'),
  ],
  [
    'only the note of its import',
    { origin: 'authored', redaction: undefined, shape: 'by hand', note: NOTE },
    body.replace('xx xxx', 'go now').replace('REDACTED_1', 'k3jf93lslw'),
  ],
]
for (const [left, change, answer] of unmarked)
  test(`from ${left}, verification detects a restored live answer that claims to be handwritten (REC-01)`, (t) => {
    const problems = verifyRecordings(
      folder(t, {
        'chat-completions-plain.json': { ...head, ...change },
        'chat-completions-plain.body.json': answer,
      }),
    )
    assert.match(problems.join('\n'), /: origin: /)
  })

test('verification detects a name that reveals the topic of the answer (REC-01)', (t) => {
  const problems = verifyRecordings(
    folder(t, {
      'acme-merger.json': { ...head, response: { ...head.response, body: 'acme-merger.body.json' } },
      'acme-merger.body.json': body,
    }),
  )
  assert.match(problems.join('\n'), /: its name is not the one .*; call it chat-completions-plain$/)
})

test('verification detects a body file with a name that reveals the topic of the answer (REC-01)', (t) => {
  const problems = verifyRecordings(
    folder(t, {
      'chat-completions-plain.json': {
        ...head,
        response: { ...head.response, body: 'acme-merger.body.json' },
      },
      'acme-merger.body.json': body,
    }),
  )
  assert.match(problems.join('\n'), /plain\.json: response\.body: does not have the name of its head/)
})

test('verification detects a second value of a field, which JSON parsers ignore (REC-01)', (t) => {
  const twice = JSON.stringify(head).replace('"origin":', `"note":${JSON.stringify(text)},"origin":`)
  const dir = folder(t, {
    'chat-completions-plain.json': twice.replace(
      '"api_version":',
      `"note":${JSON.stringify(NOTE)},"api_version":`,
    ),
    'chat-completions-plain.body.json': body,
  })
  assert.match(verifyRecordings(dir).join('\n'), /contains more than is read from it/)
})

test('verification detects a body file without a JSON file, and two JSON files for one request', (t) => {
  const problems = verifyRecordings(
    folder(t, {
      'chat-completions-plain.json': head,
      'chat-completions-plain.body.json': body,
      'chat-completions-plain-2.json': head,
      'old.sse': 'data: 1\n\n',
    }),
  )
  assert.deepEqual(problems, [
    'openai/old.sse: no recording names this file as its body; delete it or write its head',
    'openai/chat-completions-plain.json: request: answers the same request as openai/chat-completions-plain-2.json; change its scenario or order, or delete it',
  ])
  const second = { ...head, request: { ...head.request, order: 2 } }
  assert.deepEqual(
    verifyRecordings(
      folder(t, {
        'chat-completions-plain.json': head,
        'chat-completions-plain.body.json': body,
        'chat-completions-plain-2.json': second,
      }),
    ),
    [],
  )
})

test('the list contains only recordings that are older than the given number of months', (t) => {
  const dir = folder(t, { 'chat-completions-plain.json': head, 'chat-completions-plain.body.json': body })
  assert.deepEqual(agedRecordings(dir, 6, new Date('2027-05-21T00:00:00Z')), [])
  assert.deepEqual(agedRecordings(dir, 6, new Date('2027-05-22T00:00:00Z')), [
    'openai/chat-completions-plain.json: is of 2026-11-21, more than 6 months old; record it again',
  ])
})
