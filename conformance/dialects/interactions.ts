// Interactions (Google): how the suite calls them and reads answers: typed steps, a stream of named events, and a last
// event without steps. Pure.
import { type AnyJson, at, jsonOf, objectsIn, readEvents } from '../evidence/reading.ts'
import type { Dialect, Reading } from './dialect.ts'

/** Statuses at the end -> the finish reasons of chat; unknown statuses stay unchanged. */
const FINISH: Readonly<Record<string, string>> = {
  ...{ completed: 'stop', requires_action: 'tool_calls', incomplete: 'length' },
}

/** Statuses of interactions that have not ended. */
export const UNFINISHED = ['queued', 'in_progress']

/** Converts usage. Thoughts are also output, but counted separately here. */
function usageOf({ total_input_tokens: input, total_output_tokens, ...usage }: AnyJson): unknown {
  const reasoning = usage.total_thought_tokens
  return {
    prompt_tokens: typeof input === 'number' ? input + (usage.total_tool_use_tokens ?? 0) : undefined,
    completion_tokens:
      typeof total_output_tokens === 'number' ? total_output_tokens + (reasoning ?? 0) : undefined,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.total_cached_tokens },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

const textIn = (value: unknown): string =>
  objectsIn(value)
    .map(({ text }) => text ?? '')
    .join('')

/** Reads steps and the end of an interaction. */
function readingOf(steps: readonly AnyJson[], end: AnyJson): Reading {
  const calls = steps.filter(({ type }) => type === 'function_call')
  const of = (kind: string, member: string) =>
    steps
      .filter(({ type }) => type === kind)
      .map((step) => textIn(step[member]))
      .join('')
  const { status } = end
  const isOver = typeof status === 'string' && status !== 'failed' && !UNFINISHED.includes(status)
  return {
    content: of('model_output', 'content'),
    reasoning: of('thought', 'summary'),
    model: typeof end.model === 'string' ? end.model : null,
    tools: calls.map(({ id = '', name = '', arguments: args }, index) => ({
      ...{ choice: 0, index, id, name },
      arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    })),
    finish: isOver ? [{ choice: 0, reason: FINISH[status] ?? status }] : [],
    usage: end.usage == null ? [] : [usageOf(end.usage)],
    errors: [end.error, status === 'failed' ? (end.errors ?? 'failed') : null].filter((each) => each != null),
    ...{ done: 0, afterDone: false, unreadable: 0 },
  }
}

/** Adds a delta to its open step. */
function grow(step: AnyJson, { type, ...delta }: AnyJson): void {
  const add = (member: string, part: unknown) => {
    step[member] = [...objectsIn(step[member]), part]
  }
  if (type === 'arguments_delta')
    step.arguments = (typeof step.arguments === 'string' ? step.arguments : '') + (delta.arguments ?? '')
  else if (type === 'thought_summary') add('summary', delta.content)
  else if (type === 'thought_signature') step.signature = delta.signature
  else add('content', { type, ...delta })
}

function read(body: string): Reading {
  const whole = jsonOf(body) as AnyJson | undefined
  if (whole !== undefined) return readingOf(objectsIn(whole?.steps), whole ?? {})
  const steps = new Map<unknown, AnyJson>()
  const errors: unknown[] = []
  let [last, done, unreadable, afterDone] = [{} as AnyJson, 0, 0, false]
  for (const { data } of readEvents(body)) {
    const event = jsonOf(data) as AnyJson | undefined
    if (data.trim() === '[DONE]') continue
    if (typeof event !== 'object' || event === null) {
      unreadable++
      continue
    }
    const { event_type: type, index, interaction } = event
    afterDone ||= done > 0
    if (type === 'error' || event.error != null) errors.push(event.error ?? event)
    else if (type === 'step.start') steps.set(index, { ...event.step })
    else if (type === 'step.delta') grow(steps.get(index) ?? {}, event.delta ?? {})
    else if (type === 'interaction.completed') done++
    if (typeof interaction === 'object' && interaction !== null) last = { ...last, ...interaction }
  }
  const reading = readingOf([...steps.values()], done > 0 ? last : { ...last, status: 'in_progress' })
  return { ...reading, errors: [...errors, ...reading.errors], done, afterDone, unreadable }
}

export const stepwise = {
  name: 'interactions',
  path: '/v1beta/interactions',
  calls: /\/interactions(\/[\w-]+(\/cancel)?)?$/,
  end: 'interaction.completed',
  headers: { 'x-goog-api-client': 'google-genai-sdk/3.3.0 gl-node/v24' },
  limit: null,
  request({ model, prompt, stream, body }) {
    // This dialect always reports usage, and has no option to request it.
    const { stream_options: _, ...more } = body as AnyJson
    return { model, input: prompt, stream, ...more }
  },
  read,
  isError: (body) =>
    ['/error/code', '/error/message'].every((pointer) => typeof at(jsonOf(body), pointer) === 'string'),
  errorShape: '{"error":{"code":"…","message":…}}',
  malformed: {
    'input of the wrong type': '{"model":"MODEL","input":7}',
    'model of the wrong type': '{"model":7,"input":"x"}',
    'temperature of the wrong type':
      '{"model":"MODEL","input":"x","generation_config":{"temperature":"hot"}}',
  },
} satisfies Dialect
