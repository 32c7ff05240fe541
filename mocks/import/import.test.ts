// Tests imports that try to write outside their folder or to include private names.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
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
  const response = { status: 200, headers: [], content: { text: '{"id":"1","say":"a foundation"}' } }
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

/** Imports a mapping of WireMock whose body is in another file. */
function importedMapping(t: TestContext, bodyFileName: string) {
  const root = temporaryDirectory(t)
  mkdirSync(join(root, 'mappings/chat'), { recursive: true })
  mkdirSync(join(root, '__files/chat'), { recursive: true })
  writeFileSync(join(root, '__files/chat/a.json'), '{"choices":[]}')
  writeFileSync(join(root, 'private.json'), '{"key":"private"}')
  symlinkSync(join(root, 'private.json'), join(root, '__files/link.json'))
  const file = join(root, 'mappings/chat/a.json')
  const request = { method: 'POST', url: '/v1/chat/completions' }
  const headers = { 'Content-Type': 'application/json' }
  writeFileSync(file, JSON.stringify({ request, response: { status: 200, headers, bodyFileName } }))
  const out = join(root, 'out')
  const [done] = importRecordings([file], { out, today: '2026-11-21', provider: 'openai' })
  return { ...done!, out }
}

test('a body that WireMock keeps in __files is read, and no file outside of it (REC-01)', (t) => {
  const { written, refused, out } = importedMapping(t, 'chat/a.json')
  assert.deepEqual(refused, [])
  assert.equal(readFileSync(join(out, `${written[0]!.name}.body.json`), 'utf8'), '{"choices":[]}')
  for (const name of ['../private.json', 'chat/../../private.json', 'link.json', 'none.json', 'chat'])
    assert.match(
      importedMapping(t, name).refused.join(),
      /^exchange 1: its body, the file __files\/\S+, cannot be read: (?:lies outside|is a link|there is no|is a folder)/,
    )
})

test('a path with an owner and a name of a model, or with none, is imported and verified (REC-01)', (t) => {
  for (const [url, name] of [
    ['https://router.huggingface.co/models/acme-labs/Tiny-Nine-8B-Instruct/v1/chat/completions', /Tiny-Nine/],
    ['https://llm.example.com/', /plain/],
    [
      'https://api.cloudflare.com/client/v4/accounts/acme-labs/ai/v1/chat/completions',
      /^api\.cloudflare\.com/,
    ],
    ['https://bedrock.us-east-1.amazonaws.com/foundation-models', /foundation-models/],
  ] as const) {
    const { written, out } = imported(t, url)
    assert.match(written.join(), name)
    assert.deepEqual(verifyRecordings(out), [])
  }
})
