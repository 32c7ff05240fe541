// Embeddings and images (OpenAI): how the suite calls them and reads answers, which have no words. Pure.
import { type AnyJson, at, jsonOf } from '../evidence/reading.ts'
import type { Dialect } from './dialect.ts'

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
