// Google's Gemini, which Gemini CLI speaks: the model and the method are in the path.
import type { Dialect } from '../dialect.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { modelList, upstream } from './upstream.ts'

export const gemini = { client, upstream, modelList, blocks } satisfies Dialect
