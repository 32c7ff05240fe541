import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { readRecordings } from './format.ts'
import { verifyRecordings } from './verify.ts'

const head = {
  format: 1,
  provider: 'openai',
  endpoint: 'models',
  request: { method: 'GET', path: '/v1/models', model: null, stream: null, scenario: 'plain' },
  response: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: 'a.body.json',
    chunks: [[2, 5]],
  },
  origin: 'authored',
  date: '2026-11-21',
  api_version: 'v1',
  shape: 'a test',
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

test('the recordings of the package pass verification (REC-01, REC-04)', () => {
  assert.deepEqual(verifyRecordings(), [])
  assert.ok(readRecordings().length >= 50)
})

test('overloads and failures that were not recorded are labelled synthetic (REC-04)', () => {
  for (const { name, origin, response } of readRecordings())
    if (response.status === 429 || response.status >= 500) assert.notEqual(origin, 'authored', name)
})

test('the package has a recording that splits an event, and one that splits a UTF-8 character', () => {
  const splits = readRecordings().map(({ bytes, response }) => {
    let end = 0
    return response.chunks.map(([length]) => {
      end += length
      return { inCharacter: ((bytes[end] ?? 0) & 0xc0) === 0x80, inEvent: bytes[end - 1] !== 0x0a }
    })
  })
  assert.ok(splits.flat().some(({ inCharacter }) => inCharacter))
  assert.ok(splits.flat().some(({ inCharacter, inEvent }) => inEvent && !inCharacter))
})

test('reading a recording returns its name and bytes', (t) => {
  const [recording] = readRecordings(folder(t, { 'a.json': head, 'a.body.json': '{}' }))
  assert.equal(recording?.name, 'openai/a')
  assert.equal(Buffer.from(recording!.bytes).toString(), '{}')
})

test('a problem is reported with its file and field', (t) => {
  const wrong = {
    ...head,
    date: 'yesterday',
    response: { ...head.response, headers: { 'set-cookie': 'a=b' } },
  }
  const dir = folder(t, { 'a.json': wrong, 'b.json': '{', 'c.json': head })
  assert.throws(
    () => readRecordings(dir),
    (error: Error) => {
      assert.match(error.message, /openai\/a\.json: date: /)
      assert.match(
        error.message,
        /openai\/a\.json: response\.headers: set-cookie is not a header that a recording may keep/,
      )
      assert.match(error.message, /openai\/b\.json: is not JSON/)
      assert.match(error.message, /openai\/c\.json: response\.body: there is no file openai\/a\.body\.json/)
      return true
    },
  )
})

test('a recording is refused if its chunks do not add up to the body', (t) => {
  assert.deepEqual(verifyRecordings(folder(t, { 'a.json': head, 'a.body.json': '{ }' })), [
    'openai/a.json: response.chunks: add up to 2 bytes, but a.body.json has 3; correct the one that was changed',
  ])
})
