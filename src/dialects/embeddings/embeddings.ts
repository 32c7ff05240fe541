// OpenAI's embeddings, which turn texts or tokens into vectors.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const embeddings = { client, upstream, modelList } satisfies Dialect
