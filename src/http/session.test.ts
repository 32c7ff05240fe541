import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { sessionOf } from './session.ts'

const ROWS: readonly [string, IncomingHttpHeaders, Record<string, unknown>, string | null][] = [
  ['nothing was sent', {}, {}, null],
  [
    'our own header goes first',
    { 'x-gateway-session-id': 'a', 'x-claude-code-session-id': 'b' },
    { prompt_cache_key: 'c' },
    'a',
  ],
  ['Claude Code', { 'x-claude-code-session-id': 'b', 'x-session-id': 'c' }, {}, 'b'],
  ['opencode', { 'x-opencode-session': 'o', 'session-id': 'c' }, {}, 'o'],
  ['Codex', { 'session-id': 's', session_id: 't' }, {}, 's'],
  ['older Codex', { session_id: 't' }, {}, 't'],
  ['generic', { 'x-session-id': 'x', 'x-session-affinity': 'y' }, {}, 'x'],
  ['affinity', { 'x-session-affinity': 'y' }, {}, 'y'],
  ['metadata as JSON', {}, { metadata: { user_id: '{"session_id":"m"}' } }, 'm'],
  ['metadata with a suffix', {}, { metadata: { user_id: 'user_1_account_2_session_0f3c' } }, '0f3c'],
  ['metadata with two suffixes', {}, { metadata: { user_id: 'a_session_b_session_c' } }, 'c'],
  ['metadata of 4 MB, at once', {}, { metadata: { user_id: `${'_session_'.repeat(450_000)}\n` } }, null],
  ['metadata with neither', {}, { metadata: { user_id: 'somebody' }, prompt_cache_key: 'k' }, 'k'],
  ['metadata that is no object', {}, { metadata: 'text', prompt_cache_key: 'k' }, 'k'],
  ['a cache key', {}, { prompt_cache_key: 'k' }, 'k'],
  ['a number is no id', {}, { prompt_cache_key: 7 }, null],
  ['blanks around it', { 'x-session-id': '  a b  ' }, {}, 'a b'],
  ['only blanks, so the next', { 'x-gateway-session-id': '  ', 'x-session-id': 'n' }, {}, 'n'],
  ['a control character, so the next', { 'x-gateway-session-id': 'a\u0007', 'x-session-id': 'n' }, {}, 'n'],
  ['256 characters', { 'x-session-id': 'x'.repeat(256) }, {}, 'x'.repeat(256)],
  ['257 characters, so none', { 'x-session-id': 'x'.repeat(257) }, {}, null],
]

for (const [name, headers, body, expected] of ROWS)
  test(`session id: ${name}`, () => assert.equal(sessionOf(headers, body), expected))
