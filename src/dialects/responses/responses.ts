// OpenAI's Responses, the dialect of Codex.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const responses = { client, upstream, modelList, blocks } satisfies Dialect
