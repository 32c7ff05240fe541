import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { ask, testGateway } from '../test/test-gateway.ts'
import { agentOf, sessionOf } from './client.ts'

const ROWS: readonly [string, IncomingHttpHeaders, readonly unknown[], string | null][] = [
  ['nothing was sent', {}, [], null],
  ['our own header goes first', { 'x-gateway-session-id': 'a', 'x-claude-code-session-id': 'b' }, ['c'], 'a'],
  ['Claude Code', { 'x-claude-code-session-id': 'b', 'x-session-id': 'c' }, [], 'b'],
  ['opencode', { 'x-opencode-session': 'o', 'session-id': 'c' }, [], 'o'],
  ['a subagent of opencode', { 'x-session-affinity': 'own', 'x-parent-session-id': 'p' }, [], 'p'],
  ['Codex', { 'session-id': 's', session_id: 't' }, [], 's'],
  ['older Codex', { session_id: 't' }, [], 't'],
  ['generic', { 'x-session-id': 'x', 'x-session-affinity': 'y' }, [], 'x'],
  ['affinity', { 'x-session-affinity': 'y' }, [], 'y'],
  ['what the body says', {}, [null, {}, '', 'k', 'l'], 'k'],
  ['a number is no id', {}, [7], null],
  ['blanks around it', { 'x-session-id': '  a b  ' }, [], 'a b'],
  ['only blanks, so the next', { 'x-gateway-session-id': '  ', 'x-session-id': 'n' }, [], 'n'],
  ['a control character, so the next', { 'x-gateway-session-id': 'a\u0007', 'x-session-id': 'n' }, [], 'n'],
  ['256 characters', { 'x-session-id': 'x'.repeat(256) }, [], 'x'.repeat(256)],
  ['257 characters, so none', { 'x-session-id': 'x'.repeat(257) }, [], null],
]

for (const [name, headers, hints, expected] of ROWS)
  test(`reads a call’s session id: ${name}`, () => assert.equal(sessionOf(headers, hints), expected))

test('the own session of a subagent of opencode is its agent id, and a session alone is none', () => {
  assert.equal(agentOf({ 'x-session-affinity': 'own', 'x-parent-session-id': 'p' }), 'own')
  assert.equal(agentOf({ 'x-session-affinity': 'own' }), null)
})

test('a session id that looks like the name of a variable is reported once', async (t) => {
  for (const [id, isReported] of [
    ['WAYBILL_SESSION_ID', true],
    ['$WAYBILL_SESSION_ID', true],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of an unreplaced variable
    ['${session_id}', true],
    ['{{session}}', true],
    ['%SESSION%', true],
    ['<your-session>', true],
    ['5f0c2b9e-0000-4000-8000-000000000000', false],
    ['ses_7Kx', false],
    ['MAIN', false],
  ] as const) {
    const said: string[] = []
    const note = (_: unknown, text: string) => void said.push(text)
    const gateway = await testGateway(t, {
      options: { log: { error: note, warn: note, info() {}, debug() {} } },
    })
    for (let n = 0; n < 2; n++) await gateway.chat(ask('auto'), { 'x-session-id': id })
    const told = said.filter((text) => text.includes('looks like the name of a variable'))
    assert.equal(told.length, isReported ? 1 : 0, id)
  }
})
