// OpenAI's responses, which Codex speaks.
import type { Dialect } from '../dialect.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const responses = { client, upstream } satisfies Dialect
