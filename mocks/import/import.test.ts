// Tests imports that try to write outside their folder or to include private names.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { temporaryDirectory } from '../../src/test/test-gateway.ts'
import { verifyRecordings } from '../recording/verify.ts'
import { importRecordings } from './import.ts'

/** Imports a HAR file with one exchange at this address. Also returns the folder. */
function imported(t: TestContext, url: string) {
  const around = temporaryDirectory(t)
  const out = join(around, 'out')
  mkdirSync(out)
  const file = join(around, 'a.har')
  const request = { method: 'POST', url, headers: [], postData: { text: '{"model":"tiny"}' } }
  const response = { status: 200, headers: [], content: { text: '{"id":"1"}' } }
  writeFileSync(file, JSON.stringify({ log: { entries: [{ request, response }] } }))
  const [done] = importRecordings([file], { out, today: '2026-11-21' })
  return { ...done!, written: done!.written.map(({ name }) => name), out, around: readdirSync(around).sort() }
}

test('a host that looks like a path outside the folder is treated as a name (REC-01)', (t) => {
  for (const url of ['https://../v1/chat', 'https://./v1/chat', '<../..>/v1/chat']) {
    const { written, around, out } = imported(t, url)
    assert.equal(written.length, 1, url)
    assert.deepEqual(around, ['a.har', 'out'])
    assert.deepEqual(verifyRecordings(out), [])
  }
})

test('an imported recording’s host omits the user and password in the address (REC-01)', (t) => {
  const { written, out } = imported(t, 'https://ada:hunter2pass@llm.example.com/v1/chat')
  assert.match(written[0]!, /^host-[\da-f]{3}\/v1-chat-name-\d{3}-plain$/)
  assert.doesNotMatch(readFileSync(join(out, `${written[0]}.json`), 'utf8'), /ada|hunter2/)
})

test("an exchange with Azure keeps its API version, but not its owner's name (REC-01, REC-04)", (t) => {
  const { written, refused, out } = imported(
    t,
    'https://acme.openai.azure.com/openai/deployments/acme/chat/completions?api-version=2024-10-21',
  )
  assert.match(written[0]!, /^azure\/chat-completions-name-\d{3}-plain$/)
  assert.deepEqual(refused, [])
  const head = readFileSync(join(out, `${written[0]}.json`), 'utf8')
  assert.equal(JSON.parse(head).api_version, '2024-10-21')
  assert.doesNotMatch(head, /acme/)
})
