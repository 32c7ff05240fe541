import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { sessionOf } from './client.ts'

const ROWS: readonly [string, IncomingHttpHeaders, readonly unknown[], string | null][] = [
  ['nothing was sent', {}, [], null],
  ['our own header goes first', { 'x-gateway-session-id': 'a', 'x-claude-code-session-id': 'b' }, ['c'], 'a'],
  ['Claude Code', { 'x-claude-code-session-id': 'b', 'x-session-id': 'c' }, [], 'b'],
  ['opencode', { 'x-opencode-session': 'o', 'session-id': 'c' }, [], 'o'],
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
