// OpenAI's images, which turn a text into pictures.
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai-request.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const images = { client, upstream, modelList } satisfies Dialect
