// DIAL-01: If the provider speaks the client's dialect, it receives the client's body with no change except in
// `model`. (Waybill has three exceptions. A member that the model is known to refuse gets the name that it accepts,
// see FIT-10. A route with `on_refused: adjust` may leave out parameters, see FIT-01. If the model does not accept
// tools in this dialect, a call with tools goes through another dialect, see FIT-05.)
import { isDeepStrictEqual } from 'node:util'
import { parseExact } from '../../src/shared/exact-json.ts'
import type { DialectName } from '../dialects/dialect.ts'
import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { type AnyJson, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

/** Step of a call; `with` is the name of a body in BODIES. */
const call = step<{ with: string; stream: boolean }>('call')

/** Integer that a double cannot hold, as JSON.stringify writes it. */
const LONG = parseExact('9007199254740993')
const LONG_SCHEMA = { type: 'object', properties: { order: { type: 'integer', maximum: LONG } } }

/** Members that dialects share, in addition to their required members. */
const MORE = {
  metadata: { user_id: 'a-user' },
  temperature: 0.5,
  tools: [],
  x_waybill_probe: { deep: [1, null, 'two'] },
}

const CACHED = { cache_control: { type: 'ephemeral' } }
const LONGER = { cache_control: { type: 'ephemeral', ttl: '1h' } }

/** Members that current clients send, especially agents. */
const OF_MESSAGES = {
  'an agent’s turn': {
    max_tokens: 32_000,
    system: [
      { type: 'text', text: 'You know the roads.' },
      { type: 'text', text: 'Answer in one sentence.', ...LONGER },
    ],
    tools: [
      { name: 'find_road', description: 'Finds a road.', input_schema: { type: 'object', properties: {} } },
      { type: 'custom', name: 'find_inn', input_schema: { type: 'object' }, ...CACHED },
    ],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2_048 },
    metadata: { user_id: 'user_1_account__session_2' },
    messages: [
      { role: 'user', content: [{ type: 'text', text: '  Which way?\n\n', ...CACHED }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'find_road', input: { from: 'here', n: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'find_inn', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'north' }],
            ...CACHED,
          },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such inn', is_error: true },
          { type: 'text', text: 'Go on. {nonce}' },
        ],
      },
    ],
  },
  'long numbers': {
    tools: [{ name: 'find_order', input_schema: LONG_SCHEMA }],
    messages: [
      { role: 'user', content: 'Which order?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'find_order', input: { order: LONG } }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' },
          { type: 'text', text: 'Go on. {nonce}' },
        ],
      },
    ],
  },
  sampling: { stop_sequences: ['<<end>>'], top_k: 7, top_p: 0.9, service_tier: 'standard_only' },
  'a system prompt as text': { system: 'You know the roads.' },
  'context management': {
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    output_config: { effort: 'low' },
  },
}

const OF_RESPONSES = {
  'an agent’s turn': {
    instructions: 'You know the roads.',
    reasoning: { effort: 'low', summary: 'auto' },
    text: {
      verbosity: 'low',
      format: { type: 'json_schema', name: 'road', strict: true, schema: { type: 'object', properties: {} } },
    },
    include: ['reasoning.encrypted_content'],
    store: false,
    parallel_tool_calls: false,
    tool_choice: 'auto',
    tools: [
      { type: 'function', name: 'find_road', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'custom', name: 'patch', format: { type: 'text' } },
    ],
    prompt_cache_key: 'a-conversation',
    metadata: { trip: 'one' },
    max_output_tokens: 4_096,
    truncation: 'auto',
    service_tier: 'default',
    safety_identifier: 'a-user',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Go on. {nonce}' },
          { type: 'input_image', detail: 'low', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        ],
      },
    ],
  },
  'long numbers': {
    tools: [{ type: 'function', name: 'find_order', parameters: LONG_SCHEMA, strict: false }],
    x_waybill_probe: LONG,
  },
  'input as one text': { input: 'Go on. {nonce}' },
  sampling: { top_p: 0.9, top_logprobs: 2, user: 'a-user' },
}

/** Bodies sent in each dialect, by subject. */
const BODIES: Readonly<Partial<Record<DialectName, Readonly<Record<string, object>>>>> = {
  messages: { 'unknown fields': MORE, ...OF_MESSAGES },
  responses: { 'unknown fields': MORE, ...OF_RESPONSES },
}

export const sameBody = {
  id: 'DIAL-01',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    for (const [what, body] of Object.entries(BODIES[session.dialect.name] ?? {}))
      for (const stream of [false, true])
        await session.chat(call.with({ with: what, stream }), {
          ...{ stream, body, script: [{ scenario: 'plain' }] },
        })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const without = (body: unknown) => ({ ...(body as AnyJson), model: null })
      const [got, sent] = [without(entry?.body), without(jsonOf(exchange.request.body ?? ''))]
      const apart = [...new Set([...Object.keys(got), ...Object.keys(sent)])].filter(
        (name) => !isDeepStrictEqual((got as AnyJson)[name], (sent as AnyJson)[name]),
      )
      return [
        finding(
          'same-body',
          entry !== null && apart.length === 0,
          `the body that the provider got of "${stepText(exchange)}"`,
          {
            expected: 'as it was sent, but for the model',
            actual:
              entry === null
                ? 'no provider was asked'
                : apart.length > 0
                  ? `other in ${apart.join(', ')}`
                  : 'the same',
          },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
