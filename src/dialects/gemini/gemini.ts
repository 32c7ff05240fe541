// Google's Gemini, the dialect of Gemini CLI. The path holds the model and the method.
import type { Dialect } from '../dialect.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { modelList, upstream } from './upstream.ts'

export const gemini = { client, upstream, modelList, blocks } satisfies Dialect
