// Anthropic's Messages, the dialect of Claude Code.
import type { Dialect } from '../dialect.ts'
import { blocks } from './blocks.ts'
import { client } from './client.ts'
import { modelList, upstream } from './upstream.ts'

export const messages = { client, upstream, modelList, blocks } satisfies Dialect
