// OpenAI's images, the dialect that generates images from text.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const images = { client, upstream, modelList } satisfies Dialect
