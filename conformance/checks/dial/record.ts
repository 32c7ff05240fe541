// Checks of what a record says about a translated call: losses, and the caller.

import { isDeepStrictEqual } from 'node:util'
import { dialectOf, modelsOf, refs, requestsOf, servedBy } from '../../dialects/lookup.ts'
import { endText, recordExchange, step, stepText } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { each, family, type Told } from '../check.ts'
import { pairs, recordAfter } from '../log/parts.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const losing = { call: step<{ model: string }>('call'), refused: step('a route that refuses losses') }

/** Member without an equivalent in chat. */
const LOST = { top_k: 5 }
const WORD = 'sampling.top_k'

check('DIAL-04', {
  needs: ['messages', 'record', 'variant:losses'],
  async exercise(session) {
    for (const model of modelsOf(session))
      await recordAfter(session, losing.call.with({ model }), { model, body: LOST })
    await session.another('losses')
    await session.chat(losing.refused, { model: 'refuses', body: LOST })
  },
  judge: [
    each(losing.call, ({ exchange, entry, crossed, quoted, evidence }) => {
      const reading = recordExchange(evidence, exchange)
      const losses = at(jsonOf(reading?.body ?? ''), '/attempt_log/0/losses')
      const inHeader = (exchange.headers['x-gateway-lossy'] ?? '').split(', ').includes(WORD)
      const onRecord = Array.isArray(losses) && losses.includes(WORD)
      return {
        'losses-are-named': [
          entry !== null && inHeader === crossed && onRecord === crossed,
          `what ${quoted} says of top_k`,
          crossed ? `${WORD}, in the header and on record` : 'nothing, it was relayed',
          `${exchange.headers['x-gateway-lossy'] ?? 'no header'}, and on record ${JSON.stringify(losses)}`,
          refs(exchange, reading, entry),
        ],
      }
    }),
    each(losing.refused, ({ exchange, evidence }) => {
      const requests = requestsOf(evidence, exchange)
      return {
        'losses-are-refused': [
          exchange.status === 400 && dialectOf(exchange).isError(exchange.body) && requests.length === 0,
          'a call that would lose something, on a route that refuses that',
          '400 in the dialect of the client, and nothing at the mock',
          `${endText(exchange)}, and ${requests.length} requests: ${exchange.body.slice(0, 100)}`,
          refs(exchange, ...requests),
        ],
      }
    }),
  ],
})

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

check('DIAL-10', {
  since: 4,
  needs: ['messages', 'record'],
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
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }): Told => {
      const { session, expect } = CALLS[exchange.details.by]!
      const wanted = { ...expect, session_id: session ? evidence.facts[exchange.details.by] : null }
      const got = Object.fromEntries(Object.keys(wanted).map((name) => [name, at(record, `/${name}`)]))
      return {
        'caller-is-on-record': [
          isDeepStrictEqual(got, wanted),
          `session, agent and purpose on record of "${stepText(exchange)}"`,
          JSON.stringify(wanted),
          JSON.stringify(got),
          refs(exchange, reading, servedBy(evidence, exchange)),
        ],
      }
    }),
})
