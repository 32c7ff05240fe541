// Jina's rerank, which Cohere, Voyage and vLLM speak alike: a question and texts in, their order out.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const rerank = { client, upstream, modelList } satisfies Dialect
