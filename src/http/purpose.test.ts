import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import type { Purpose } from '../core/call.ts'
import { agentOf, purposeOf } from './client.ts'

const turn = (fields: object): IncomingHttpHeaders => ({ 'x-codex-turn-metadata': JSON.stringify(fields) })
const CLAUDE = { 'x-claude-code-session-id': 's' }
const CHILD = { 'thread-id': 'child', 'x-openai-subagent': 'collab_spawn' }

/** A client's request, whether it offers tools, and the expected purpose of the call (DIAL-10). */
const ROWS: readonly [string, IncomingHttpHeaders, boolean, Purpose][] = [
  ['a plain call', {}, false, 'main'],
  ['a client that no rule knows, with tools', {}, true, 'main'],
  ['our own session header says nothing of it', { 'x-gateway-session-id': 's' }, false, 'main'],
  ['Claude Code: a turn', CLAUDE, true, 'main'],
  ['Claude Code: a title or a classifier', CLAUDE, false, 'background'],
  ['Claude Code: a subagent', { ...CLAUDE, 'x-claude-code-agent-id': 'a' }, true, 'subagent'],
  [
    'Claude Code: a subagent asks a classifier',
    { ...CLAUDE, 'x-claude-code-agent-id': 'a' },
    false,
    'subagent',
  ],
  ['opencode: a turn', { 'x-session-affinity': 's', 'x-session-id': 's' }, true, 'main'],
  ['opencode: a title', { 'x-session-affinity': 's', 'x-session-id': 's' }, false, 'background'],
  ['opencode: a subagent', { 'x-session-affinity': 't', 'x-parent-session-id': 's' }, true, 'subagent'],
  ['Copilot: what the user asked', { 'x-initiator': 'user' }, true, 'main'],
  ['Copilot: what a tool answered', { 'x-initiator': 'agent' }, true, 'main'],
  ['Gemini CLI: which model to take', { 'x-gemini-api-privileged-user-id': 'i' }, false, 'background'],
  ['Copilot: beside the conversation', { 'x-initiator': 'agent' }, false, 'background'],
  ['Codex: a turn', turn({ request_kind: 'turn', thread_source: 'user' }), true, 'main'],
  ['Codex: a turn without tools', turn({ request_kind: 'turn', thread_source: 'user' }), false, 'main'],
  ['Codex: a title', turn({ request_kind: 'turn', thread_source: 'thread_title' }), false, 'background'],
  ['Codex: a compaction', turn({ request_kind: 'compaction', thread_source: 'user' }), false, 'compaction'],
  ['Codex: a subagent', { ...turn({ request_kind: 'turn', thread_source: 'subagent' }) }, true, 'subagent'],
  ['Codex: a subagent, by its own header', CHILD, true, 'subagent'],
  ['Codex: metadata that cannot be read', { 'x-codex-turn-metadata': '{"request_kind":' }, true, 'main'],
  ['Codex: metadata that is no object', { 'x-codex-turn-metadata': 'null' }, true, 'main'],
  ['an empty header says nothing', { ...CLAUDE, 'x-claude-code-agent-id': '' }, true, 'main'],
]

for (const [name, headers, tools, expected] of ROWS)
  test(`reads a call’s purpose: ${name}`, () => assert.equal(purposeOf(headers, { tools }), expected))

test('a Codex thread counts as an agent only if it belongs to a subagent', () => {
  assert.equal(agentOf({ 'thread-id': 'root' }), null)
  assert.equal(agentOf(CHILD), 'child')
  assert.equal(agentOf({ 'x-claude-code-agent-id': 'a', ...CHILD }), 'a')
})
