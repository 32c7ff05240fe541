// Gemini (Google): how the suite calls it and reads answers, as the official client does. The model is in the
// path. A stream consists of events, or is a list if the client does not request events. Pure.
import { parseExactIntegers } from '../../src/shared/exact-json.ts'
import { type AnyJson, at, jsonOf, objectsIn, readEvents } from '../evidence/reading.ts'
import type { Dialect, Reading } from './dialect.ts'

/** Finish reasons -> those of chat; unknown reasons stay unchanged. */
const FINISH: Readonly<Record<string, string>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
}

/** Converts usage. Thoughts are also output, but counted separately here. */
function usageOf({ promptTokenCount: input, candidatesTokenCount, ...usage }: AnyJson): unknown {
  const reasoning = usage.thoughtsTokenCount
  const output =
    typeof candidatesTokenCount === 'number' ? candidatesTokenCount + (reasoning ?? 0) : undefined
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: usage.totalTokenCount,
    prompt_tokens_details: { cached_tokens: usage.cachedContentTokenCount },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

function read(body: string): Reading {
  const whole = jsonOf(body, parseExactIntegers)
  if (whole !== undefined) return { ...readingOf([whole].flat() as AnyJson[], 0), done: 0, afterDone: false }
  const events = readEvents(body).map(({ data }) => jsonOf(data, parseExactIntegers) as AnyJson | undefined)
  const readable = events.filter((event) => event !== undefined)
  return readingOf(readable, events.length - readable.length)
}

function readingOf(parts: readonly AnyJson[], unreadable: number): Reading {
  let [content, reasoning] = ['', '']
  let model: string | null = null
  let afterDone = false
  const tools: Reading['tools'][number][] = []
  const finish: Reading['finish'][number][] = []
  const usage: unknown[] = []
  const errors: unknown[] = []
  for (const part of parts) {
    if (part?.error != null) errors.push(part.error)
    if (typeof part?.modelVersion === 'string') model ??= part.modelVersion
    if (part?.usageMetadata != null) usage.push(usageOf(part.usageMetadata))
    if (part?.promptFeedback?.blockReason != null) finish.push({ choice: 0, reason: 'content_filter' })
    for (const candidate of objectsIn(part?.candidates)) {
      const choice = candidate.index ?? 0
      afterDone ||= finish.some((ended) => ended.choice === choice)
      for (const { text = '', thought, functionCall: call } of objectsIn(candidate.content?.parts)) {
        if (thought === true) reasoning += text
        else content += text
        if (call)
          tools.push({
            ...{ choice, index: tools.length, id: call.id ?? '', name: call.name },
            arguments: JSON.stringify(call.args ?? {}),
          })
      }
      const reason = candidate.finishReason
      if (reason != null) finish.push({ choice, reason: FINISH[reason] ?? reason })
    }
  }
  // The only end of a stream is its finish reason.
  const done = finish.filter(({ choice }) => choice === 0).length
  return { content, reasoning, model, tools, finish, usage, errors, done, afterDone, unreadable }
}

export const gemini = {
  name: 'gemini',
  path: '/v1beta/models',
  pathOf: ({ model, stream }) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  calls: /:(g|streamG)enerateContent$/,
  end: 'finishReason',
  headers: { 'x-goog-api-client': 'google-genai-sdk/1.0.0 gl-node/v24' },
  limit: null,
  request({ prompt, body }) {
    // This dialect always reports usage, and has no option to request it.
    const { stream_options: _, ...more } = body as AnyJson
    return { contents: [{ role: 'user', parts: [{ text: prompt }] }], ...more }
  },
  read,
  isError(body) {
    const error = [jsonOf(body)].flat().at(0)
    return (
      typeof at(error, '/error/code') === 'number' &&
      ['/error/message', '/error/status'].every((pointer) => typeof at(error, pointer) === 'string')
    )
  },
  errorShape: '{"error":{"code":…,"message":…,"status":…}}',
  malformed: {
    'contents of the wrong type': '{"contents":"hello"}',
    'parts of the wrong type': '{"contents":[{"role":"user","parts":7}]}',
    'temperature of the wrong type':
      '{"contents":[{"role":"user","parts":[{"text":"x"}]}],"generationConfig":{"temperature":"hot"}}',
  },
} satisfies Dialect
