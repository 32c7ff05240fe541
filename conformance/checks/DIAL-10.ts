// DIAL-10: The record has the session, the agent and the purpose of a call. They follow from the contract's rules
// for headers and purposes, never from the words of a prompt. The status line shows only calls with the purpose
// `main`.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { pairs, recordAfter } from './use/parts.ts'

/** Step of a call; `by` is the name of a sender in CALLS. */
const call = step<{ by: string }>('call')

const TOOLS = [{ name: 'look', input_schema: { type: 'object' } }]
const CODEX = 'x-codex-turn-metadata'

/**
 * Headers with which agents identify themselves, and the expected record. SESSION stands for an id that is
 * unique to the call.
 */
const CALLS: Readonly<
  Record<string, { headers: Record<string, string>; tools: boolean; session: boolean; expect: object }>
> = {
  'a client without a name': {
    headers: {},
    tools: false,
    session: false,
    expect: { purpose: 'main', agent_id: null },
  },
  'Claude Code, with tools': {
    headers: { 'x-claude-code-session-id': 'SESSION' },
    tools: true,
    session: true,
    expect: { purpose: 'main', agent_id: null },
  },
  'Claude Code, without tools': {
    headers: { 'x-claude-code-session-id': 'SESSION' },
    tools: false,
    session: true,
    expect: { purpose: 'background', agent_id: null },
  },
  'a subagent of Claude Code': {
    headers: { 'x-claude-code-session-id': 'SESSION', 'x-claude-code-agent-id': 'agent-7' },
    tools: true,
    session: true,
    expect: { purpose: 'subagent', agent_id: 'agent-7' },
  },
  'Codex, compacting': {
    headers: { 'session-id': 'SESSION', [CODEX]: '{"request_kind":"compaction"}' },
    tools: true,
    session: true,
    expect: { purpose: 'compaction', agent_id: null },
  },
  'Codex, looking for a title': {
    headers: { session_id: 'SESSION', [CODEX]: '{"thread_source":"thread_title"}' },
    tools: true,
    session: true,
    expect: { purpose: 'background', agent_id: null },
  },
  opencode: {
    headers: { 'x-opencode-session': 'SESSION' },
    tools: true,
    session: true,
    expect: { purpose: 'main', agent_id: null },
  },
}

export const purposeIsOnRecord = {
  id: 'DIAL-10',
  since: 4,
  needs: ['messages', 'record'],
  dialect: 'messages',
  async exercise(session) {
    for (const [by, { headers, tools }] of Object.entries(CALLS)) {
      const id = `session-${session.nonce()}`
      session.note(by, id)
      const own = Object.entries(headers).map(([name, value]) => [name, value.replace('SESSION', id)])
      // The words of a prompt must not identify an agent.
      await recordAfter(session, call.with({ by }), {
        ...{ headers: Object.fromEntries(own), prompt: 'Summarize this conversation as a title.' },
        body: tools ? { tools: TOOLS } : {},
      })
    }
  },
  judge: ({ evidence }) =>
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }) => {
      const { session, expect } = CALLS[exchange.details.by]!
      const wanted = { ...expect, session_id: session ? evidence.facts[exchange.details.by] : null }
      const got = Object.fromEntries(Object.keys(wanted).map((name) => [name, at(record, `/${name}`)]))
      return finding(
        'caller-is-on-record',
        isDeepStrictEqual(got, wanted),
        `session, agent and purpose on record of "${stepText(exchange)}"`,
        { expected: JSON.stringify(wanted), actual: JSON.stringify(got) },
        refs(exchange, reading, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
