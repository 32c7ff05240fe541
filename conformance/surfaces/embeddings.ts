// Embeddings (OpenAI) as the suite calls them: an input, and vectors instead of an answer in words. Never streamed. What it
// reads are the vectors, as text. Pure.
import { at, type Json, jsonOf } from '../reading.ts'
import type { Surface } from '../surface.ts'

export const embeddings = {
  name: 'embeddings',
  path: '/v1/embeddings',
  end: 'its last vector',
  headers: {},
  request: ({ model, prompt, body }) => ({ model, input: prompt, ...body }),
  read(body) {
    const whole = (jsonOf(body) ?? {}) as Json
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
} satisfies Surface
