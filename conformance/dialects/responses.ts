// Responses (OpenAI): how the suite calls them and reads answers: items, a stream of named events, and a last
// event that holds the whole. Pure.
import { type AnyJson, at, jsonOf, objectsIn, readEvents } from '../evidence/reading.ts'
import type { Dialect, Reading } from './dialect.ts'

/** Events that end a stream, including failure. */
const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** Events that carry reasoning. */
const THOUGHTS = ['response.reasoning_summary_text.delta', 'response.reasoning_text.delta']

const FINISH: Readonly<Record<string, string>> = {
  max_output_tokens: 'length',
  content_filter: 'content_filter',
}

function usageOf(usage: AnyJson): unknown {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.input_tokens_details?.cached_tokens },
    completion_tokens_details: { reasoning_tokens: usage.output_tokens_details?.reasoning_tokens },
  }
}

const textIn = (item: AnyJson): string =>
  objectsIn(item.content)
    .map(({ text }) => text ?? '')
    .join('')

/** Returns the visible reasoning of an item, summarised or verbatim. */
const thoughtsIn = (item: AnyJson): string =>
  [item.summary, item.content]
    .flatMap(objectsIn)
    .map(({ text }) => text ?? '')
    .join('')

const callIn = (item: AnyJson): Omit<Reading['tools'][number], 'choice' | 'index'> => ({
  id: item.call_id ?? '',
  name: item.name ?? '',
  arguments: item.arguments ?? '',
})

/** Returns the finish reason of a response in chat's words; null while it is unfinished. */
function reasonOf(response: AnyJson, calls: number): string | null {
  if (response.status === 'completed') return calls > 0 ? 'tool_calls' : 'stop'
  if (response.status !== 'incomplete') return null
  const reason = response.incomplete_details?.reason
  return FINISH[reason] ?? String(reason)
}

function readWhole(whole: AnyJson): Reading {
  const output = objectsIn(whole.output)
  const tools = output
    .filter(({ type }) => type === 'function_call')
    .map((item, index) => ({ choice: 0, index, ...callIn(item) }))
  const reason = reasonOf(whole, tools.length)
  return {
    content: output
      .filter(({ type }) => type === 'message')
      .map(textIn)
      .join(''),
    reasoning: output
      .filter(({ type }) => type === 'reasoning')
      .map(thoughtsIn)
      .join(''),
    model: typeof whole.model === 'string' ? whole.model : null,
    tools,
    finish: reason === null ? [] : [{ choice: 0, reason }],
    usage: whole.usage == null ? [] : [usageOf(whole.usage)],
    errors: whole.error == null ? [] : [whole.error],
    done: 0,
    afterDone: false,
    unreadable: 0,
  }
}

function read(body: string): Reading {
  const whole = jsonOf(body)
  if (whole !== undefined) return readWhole((typeof whole === 'object' && whole) || {})
  let [content, reasoning, model, done, unreadable, afterDone] = ['', '', null as string | null, 0, 0, false]
  const calls = new Map<number, Reading['tools'][number]>()
  const finish: Reading['finish'][number][] = []
  const usage: unknown[] = []
  const errors: unknown[] = []
  for (const { data } of readEvents(body)) {
    const event = jsonOf(data) as AnyJson | undefined
    // Some gateways end every stream with chat's end mark.
    if (data.trim() === '[DONE]') continue
    if (typeof event !== 'object' || event === null) {
      unreadable++
      continue
    }
    // Clients ignore unknown events, even after the last one.
    afterDone ||= done > 0 && /^(response\.|error$)/.test(event.type ?? 'error')
    const response: AnyJson = event.response ?? {}
    model ??= response.model ?? null
    if (event.type === 'error' || (event.type === undefined && event.error != null))
      errors.push(event.error ?? event)
    else if (event.type === 'response.output_text.delta') content += event.delta ?? ''
    else if (THOUGHTS.includes(event.type)) reasoning += event.delta ?? ''
    else if (event.type === 'response.output_item.added' && event.item?.type === 'function_call')
      calls.set(event.output_index, { choice: 0, index: calls.size, ...callIn(event.item) })
    else if (event.type === 'response.function_call_arguments.delta') {
      const call = calls.get(event.output_index)
      if (call) call.arguments += event.delta ?? ''
    } else if (TERMINAL.includes(event.type)) {
      if (event.type === 'response.failed') errors.push(response.error ?? event)
      else done++
      const reason = reasonOf(response, calls.size)
      if (reason !== null) finish.push({ choice: 0, reason })
      if (response.usage != null) usage.push(usageOf(response.usage))
    }
  }
  return {
    content,
    reasoning,
    model,
    tools: [...calls.values()],
    finish,
    usage,
    errors,
    done,
    afterDone,
    unreadable,
  }
}

export const responses = {
  name: 'responses',
  path: '/v1/responses',
  end: 'response.completed',
  headers: {},
  request({ model, prompt, stream, body }) {
    // This dialect always reports usage, and has no option to request it.
    const { stream_options: _, ...more } = body as AnyJson
    return { model, input: [{ role: 'user', content: prompt }], stream, ...more }
  },
  limit: 'max_output_tokens',
  read,
  isError: (body) => typeof at(jsonOf(body), '/error/message') === 'string',
  errorShape: '{"error":{"message":…}}',
  malformed: {
    'input of the wrong type': '{"model":"MODEL","input":7}',
    'model of the wrong type': '{"model":7,"input":"x"}',
    'temperature of the wrong type': '{"model":"MODEL","input":"x","temperature":"hot"}',
  },
} satisfies Dialect
