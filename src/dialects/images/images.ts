// OpenAI's images: a text in, pictures out.
import type { Dialect } from '../dialect.ts'
import { client } from './client.ts'
import { upstream } from './upstream.ts'

export const images = { client, upstream } satisfies Dialect
