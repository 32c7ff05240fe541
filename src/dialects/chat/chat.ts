// OpenAI's chat completions, which most providers and most clients speak.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const chat = { client, upstream, modelList, blocks } satisfies Dialect
