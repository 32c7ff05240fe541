// OpenAI's chat completions, the dialect of most providers and clients.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const chat = { client, upstream, modelList, blocks } satisfies Dialect
