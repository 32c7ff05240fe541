// Images (OpenAI): how the suite calls them and reads answers. Answers are pictures, which are read as text.
// Never streamed here. Pure.
import { type AnyJson, jsonOf } from '../evidence/reading.ts'
import type { Dialect } from './dialect.ts'
import { embeddings } from './embeddings.ts'

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
