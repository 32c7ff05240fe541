// Chat completions (OpenAI): how the suite calls them and reads answers; and embeddings and images, whose answers have no
// words. Pure.
import { type AnyJson, at, jsonOf, objectsIn, readEvents, SEPARATOR } from '../evidence/reading.ts'
import type { Dialect, Reading } from './dialect.ts'

/**
 * Reads answers as the official clients do: `message` of a whole answer, `delta` of a stream. A later id or
 * name replaces an earlier one.
 */
function read(body: string): Reading {
  const whole = jsonOf(body)
  if (whole !== undefined)
    return { ...readParts([whole], 'message'), done: 0, afterDone: false, unreadable: 0 }
  const parts: unknown[] = []
  let done = 0
  let afterDone = false
  let unreadable = 0
  for (const { event, data } of readEvents(body)) {
    afterDone ||= done > 0
    if (data.trim() === '[DONE]') done++
    else {
      const json = jsonOf(data)
      if (json === undefined) unreadable++
      parts.push(event === 'error' && at(json, '/error') === undefined ? { error: json ?? data } : json)
    }
  }
  return { ...readParts(parts, 'delta'), done, afterDone, unreadable }
}

function readParts(
  parts: readonly unknown[],
  member: 'message' | 'delta',
): Omit<Reading, 'done' | 'afterDone' | 'unreadable'> {
  const texts: string[] = []
  let reasoning = ''
  let model: string | null = null
  const tools: Reading['tools'][number][] = []
  const finish: Reading['finish'][number][] = []
  const usage: unknown[] = []
  const errors: unknown[] = []
  for (const part of parts as (AnyJson | null | undefined)[]) {
    if (typeof part !== 'object' || part === null) continue
    if (part.error != null) errors.push(part.error)
    if (part.usage != null) usage.push(part.usage)
    if (typeof part.model === 'string') model ??= part.model
    for (const choice of objectsIn(part.choices)) {
      const said: AnyJson = choice[member] ?? {}
      const number = choice.index ?? 0
      if (typeof said.content === 'string') texts[number] = (texts[number] ?? '') + said.content
      reasoning += said.reasoning_content || said.reasoning || ''
      if (choice.finish_reason != null) finish.push({ choice: number, reason: choice.finish_reason })
      for (const [position, call] of objectsIn(said.tool_calls).entries()) {
        const index = call.index ?? position
        let tool = tools.find((each) => each.choice === number && each.index === index)
        if (!tool) {
          tool = { choice: number, index, id: '', name: '', arguments: '' }
          tools.push(tool)
        }
        tool.id = call.id || tool.id
        tool.name = call.function?.name || tool.name
        tool.arguments += call.function?.arguments ?? ''
      }
    }
  }
  return { content: Object.values(texts).join(SEPARATOR), reasoning, model, tools, finish, usage, errors }
}

export const chat = {
  name: 'chat',
  path: '/v1/chat/completions',
  end: '[DONE]',
  headers: {},
  request: ({ model, prompt, stream, body }) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
    stream,
    ...body,
  }),
  limit: 'max_tokens',
  read,
  isError: (body) => typeof at(jsonOf(body), '/error/message') === 'string',
  errorShape: '{"error":{"message":…}}',
  malformed: {
    'no messages': '{"model":"MODEL"}',
    'messages of the wrong type': '{"model":"MODEL","messages":"hello"}',
    'model of the wrong type': '{"model":7,"messages":[{"role":"user","content":"x"}]}',
    'temperature of the wrong type':
      '{"model":"MODEL","messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
  },
} satisfies Dialect

export const embeddings = {
  name: 'embeddings',
  path: '/v1/embeddings',
  end: 'its last vector',
  headers: {},
  limit: null,
  request: ({ model, prompt, body }) => ({ model, input: prompt, ...body }),
  read(body) {
    const whole = (jsonOf(body) ?? {}) as AnyJson
    return {
      content: Array.isArray(whole.data) ? JSON.stringify(whole.data) : '',
      reasoning: '',
      model: typeof whole.model === 'string' ? whole.model : null,
      tools: [],
      finish: [],
      usage: whole.usage == null ? [] : [whole.usage],
      errors: whole.error == null ? [] : [whole.error],
      done: 0,
      afterDone: false,
      unreadable: 0,
    }
  },
  isError: (body) => typeof at(jsonOf(body), '/error/message') === 'string',
  errorShape: '{"error":{"message":…}}',
  malformed: {
    'no input': '{"model":"MODEL"}',
    'model of the wrong type': '{"model":7,"input":"x"}',
  },
} satisfies Dialect

export const pictures = {
  ...embeddings,
  name: 'images',
  path: '/v1/images/generations',
  end: 'its last picture',
  request: ({ model, prompt, body }) => ({ model, prompt, ...body }),
  read(body) {
    const { usage } = (jsonOf(body) ?? {}) as AnyJson
    const words = usage && {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.total_tokens,
    }
    return { ...embeddings.read(body), usage: words ? [words] : [] }
  },
  malformed: {
    'no prompt': '{"model":"MODEL"}',
    'model of the wrong type': '{"model":7,"prompt":"x"}',
  },
} satisfies Dialect
