// Tests that redaction preserves the parts on which clients act: enumerated values, counts, and distinct
// names.
import assert from 'node:assert/strict'
import test from 'node:test'
import { redactAnswer } from './exchange.ts'
import { createPlaceholders } from './placeholders.ts'

function redacted(body: string): string {
  const answer = { method: 'POST', path: '/v1/x', headers: {} }
  const left = redactAnswer({ ...answer, body: Buffer.from(body) }).body
  assert.equal(left.length, Buffer.byteLength(body))
  const again = redactAnswer({ ...answer, body: left }, undefined, createPlaceholders(true)).body
  assert.equal(again.toString(), left.toString(), 'redacting twice changes something')
  return left.toString()
}

const kept = [
  ...['OpenAI', 'Amazon Bedrock', 'Google AI Studio', 'Moonshot AI', 'Fireworks', 'Z.AI', 'anthropic'].map(
    (provider) => ({ provider }),
  ),
  ...[
    'validating',
    'in_progress',
    'finalizing',
    'completed',
    'expired',
    'cancelling',
    'cancelled',
    'failed',
  ].map((status) => ({ status })),
  { processing_status: 'ended' },
  { processing_status: 'canceling' },
  { status: 'validating_files' },
  { state: 'JOB_STATE_SUCCEEDED' },
  { state: 'BATCH_STATE_PENDING' },
  { state: 'ACTIVE' },
  { status: 'CANCELLATION_REQUESTED' },
  { result: { type: 'errored' } },
  { request_counts: { total: 45, completed: 41, failed: 4, errored: 2, succeeded: 9 } },
  { completion_window: '24h', endpoint: '/v1/chat/completions', purpose: 'batch_output' },
  ...['anthropic-claude-v1', 'google-gemini-v1', 'openai-responses-v1', 'xai-responses-v1', 'unknown'].map(
    (format) => ({ reasoning_details: [{ type: 'reasoning.text', format }] }),
  ),
  { usage: { num_requests: 37 } },
  { num_requests: 37, num_sources_used: 12, total_count: 98 },
]
for (const value of kept)
  test(`redaction keeps ${JSON.stringify(value)} (REC-03)`, () => {
    assert.equal(redacted(JSON.stringify(value)), JSON.stringify(value))
  })

test('text that only resembles a known value is removed from the fields where known values are kept (REC-01)', () => {
  for (const value of [
    { provider: 'Acme Harbour Gateway' },
    { provider: 'ada@acme.example' },
    { status: 'waiting for Ada' },
    { state: 'harbour closed' },
    { format: 'acme-claude-v1' },
    { endpoint: '/v1/acme/chat' },
    { purpose: 'merger with acme' },
  ])
    assert.doesNotMatch(redacted(JSON.stringify(value)), /acme|ada|harbour|closed|merger/i)
})

/** Arguments with names of equal length, and the number of names. */
const colliding: [args: object, names: number][] = [
  [{ a: 2, b: 3 }, 2],
  [{ x: 1, y: 2, z: 3 }, 3],
  [{ from: 'Zug', over: 'Bern', into: 'Genf' }, 3],
  [{ A: 1, a: 1, '1': 1, '2': 1 }, 4],
  [{ é: 1, è: 2 }, 2],
  [{ 都市: 1, 日付: 2 }, 2],
  [{ '😀': 1, '😁': 2 }, 2],
  [Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${String(i).padStart(2, '0')}`, i])), 60],
  [{ outer: { a: { c: 1, d: 2 }, b: { c: 1, d: 2 } } }, 1],
]

/** Counts the values of an object at every depth. */
const count = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + count(inner), 0)
    : 1

for (const [args, names] of colliding) {
  const text = JSON.stringify(args)
  test(`different names in tool arguments stay different: ${text.slice(0, 40)} (REC-03)`, () => {
    const whole = JSON.parse(redacted(JSON.stringify({ input: args })))
    assert.equal(Object.keys(whole.input).length, names)
    assert.equal(count(whole.input), count(args))
    const inText = JSON.parse(redacted(JSON.stringify({ function: { name: 'add', arguments: text } })))
    assert.equal(count(JSON.parse(inText.function.arguments)), count(args))
  })

  test(`different names in tool arguments sent in pieces stay different: ${text.slice(0, 40)} (REC-03)`, () => {
    for (const size of [1, 2, 3, 7])
      for (const [event, pieceOf] of Object.entries(dialects)) {
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
          text.slice(i * size, (i + 1) * size),
        )
        // Two calls, with their pieces alternating.
        const body = pieces
          .flatMap((piece) =>
            [0, 1].map((index) => `data: ${JSON.stringify(eventOf(event, piece, index))}\n\n`),
          )
          .join('')
        const events = redacted(body)
          .split('\n\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line.slice(6)))
        for (const index of [0, 1]) {
          const joined = events
            .filter((one) => indexOf(one) === index)
            .map(pieceOf)
            .join('')
          assert.equal(count(JSON.parse(joined)), count(args), `${event}, ${size}: ${joined}`)
          assert.equal(joined.length, text.length)
        }
      }
  })
}

type Event = any
const dialects: Readonly<Record<string, (event: Event) => string>> = {
  chat: (event) => event.choices[0].delta.tool_calls[0].function.arguments,
  messages: (event) => event.delta.partial_json,
  responses: (event) => event.delta,
}
function eventOf(dialect: string, piece: string, index: number): Event {
  if (dialect === 'chat')
    return { choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: piece } }] } }] }
  if (dialect === 'messages')
    return { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: piece }, index }
  return { type: 'response.function_call_arguments.delta', delta: piece, output_index: index }
}
const indexOf = (event: Event): number =>
  event.choices?.[0].delta.tool_calls[0].index ?? event.index ?? event.output_index
