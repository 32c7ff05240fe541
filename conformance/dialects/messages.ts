// Messages (Anthropic): how the suite calls them and reads answers, like the official client:
// `message_start`, blocks by index, `message_delta`, `message_stop`. Pure.
import { parseExactIntegers } from '../../src/shared/exact-json.ts'
import { type AnyJson, at, jsonOf, readEvents } from '../evidence/reading.ts'
import type { Dialect, Reading } from './dialect.ts'

/** Stop reasons -> finish reasons of chat; unknown reasons stay unchanged. */
const FINISH: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

/** Events that make up a message. Clients must ignore unknown events. */
const PARTS = new Set([
  ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
  ...['message_delta', 'message_stop', 'error'],
])

/** Converts usage. Tokens read from or written to the cache are also input, but counted separately here. */
function usageOf(usage: AnyJson): unknown {
  const { input_tokens: fresh, output_tokens: output } = usage
  const cached = usage.cache_read_input_tokens
  const input =
    typeof fresh === 'number' ? fresh + (cached ?? 0) + (usage.cache_creation_input_tokens ?? 0) : undefined
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input === undefined || typeof output !== 'number' ? undefined : input + output,
    prompt_tokens_details: { cached_tokens: cached ?? undefined },
    completion_tokens_details: { reasoning_tokens: usage.output_tokens_details?.thinking_tokens },
  }
}

/** Merges the usage of `message_start` with the values that `message_delta` replaces. */
function merged(usages: readonly AnyJson[]): unknown[] {
  if (usages.length === 0) return []
  const told = usages.flatMap((each) => Object.entries(each).filter(([, value]) => value != null))
  return [usageOf(Object.fromEntries(told))]
}

function read(body: string): Reading {
  const whole = jsonOf(body, parseExactIntegers)
  if (whole !== undefined)
    return readingOf(eventsFrom(whole as AnyJson), { done: 0, afterDone: false, unreadable: 0 })
  const events: AnyJson[] = []
  let [done, unreadable, afterDone] = [0, 0, false]
  for (const { event, data } of readEvents(body)) {
    const json = jsonOf(data, parseExactIntegers) as AnyJson | undefined
    afterDone ||= done > 0 && PARTS.has(json?.type)
    if (json === undefined) unreadable += PARTS.has(event ?? '') ? 1 : 0
    else events.push(json)
    if (json?.type === 'message_stop') done++
  }
  return readingOf(events, { done, afterDone, unreadable })
}

/** Converts a whole answer to the events of a stream. */
function eventsFrom(whole: AnyJson | null): AnyJson[] {
  if (whole === null || typeof whole !== 'object') return []
  if (whole.type === 'error' || whole.error != null) return [whole]
  const blocks: AnyJson[] = Array.isArray(whole.content) ? whole.content : []
  return [
    { type: 'message_start', message: { ...whole, stop_reason: null } },
    ...blocks.map((content_block, index) => ({ type: 'content_block_start', index, content_block })),
    { type: 'message_delta', delta: { stop_reason: whole.stop_reason } },
  ]
}

function readingOf(
  events: readonly AnyJson[],
  ends: Pick<Reading, 'done' | 'afterDone' | 'unreadable'>,
): Reading {
  let [content, reasoning] = ['', '']
  let model: string | null = null
  const tools: Reading['tools'][number][] = []
  const calls = new Map<number, Reading['tools'][number]>()
  const finish: Reading['finish'][number][] = []
  const usages: AnyJson[] = []
  const errors: unknown[] = []
  for (const event of events) {
    if (typeof event !== 'object' || event === null) continue
    if (event.error != null) errors.push(event.error)
    if (event.type === 'message_start') {
      model ??= event.message?.model ?? null
      if (event.message?.usage != null) usages.push(event.message.usage)
    } else if (event.type === 'content_block_start') {
      const block: AnyJson = event.content_block ?? {}
      content += block.type === 'text' ? (block.text ?? '') : ''
      reasoning += block.type === 'thinking' ? (block.thinking ?? '') : ''
      if (block.type !== 'tool_use') continue
      const filled = Object.keys(block.input ?? {}).length > 0 ? JSON.stringify(block.input) : ''
      const call = {
        choice: 0,
        index: tools.length,
        id: block.id ?? '',
        name: block.name ?? '',
        arguments: filled,
      }
      tools.push(call)
      calls.set(event.index, call)
    } else if (event.type === 'content_block_delta') {
      content += event.delta?.text ?? ''
      reasoning += event.delta?.thinking ?? ''
      const call = calls.get(event.index)
      if (call) call.arguments += event.delta?.partial_json ?? ''
    } else if (event.type === 'message_delta') {
      if (event.usage != null) usages.push(event.usage)
      const reason = event.delta?.stop_reason
      if (reason != null) finish.push({ choice: 0, reason: FINISH[reason] ?? reason })
    }
  }
  // A call without arguments has an empty object.
  for (const call of tools) call.arguments ||= '{}'
  return { content, reasoning, model, tools, finish, usage: merged(usages), errors, ...ends }
}

export const messages = {
  name: 'messages',
  path: '/v1/messages',
  end: 'message_stop',
  headers: { 'anthropic-version': '2023-06-01' },
  request({ model, prompt, stream, body }) {
    // This dialect always reports usage, and has no option to request it.
    const { stream_options: _, ...more } = body as AnyJson
    return { model, max_tokens: 1024, messages: [{ role: 'user', content: prompt }], stream, ...more }
  },
  limit: 'max_tokens',
  read,
  isError(body) {
    const json = jsonOf(body)
    const said = [at(json, '/error/type'), at(json, '/error/message')]
    return at(json, '/type') === 'error' && said.every((each) => typeof each === 'string')
  },
  errorShape: '{"type":"error","error":{"type":…,"message":…}}',
  malformed: {
    'no messages': '{"model":"MODEL","max_tokens":16}',
    'messages of the wrong type': '{"model":"MODEL","max_tokens":16,"messages":"hello"}',
    'model of the wrong type': '{"model":7,"max_tokens":16,"messages":[{"role":"user","content":"x"}]}',
    'temperature of the wrong type':
      '{"model":"MODEL","max_tokens":16,"messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
  },
} satisfies Dialect
