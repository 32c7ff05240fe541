// OpenAI's Responses, the dialect of Codex.

import type { DialectBlocks } from '../blocks.ts'
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai.ts'
import { client } from './client.ts'
import { FAMILY, parseRequest } from './read-request.ts'
import { upstream } from './upstream.ts'
import { ResponsesWriter, writeAnswer } from './write-answer.ts'
import { writeRequest } from './write-request.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z0-9_-]{1,64}$/, namespaces: true, custom: true },
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: (_asker, losses) => new ResponsesWriter(losses),
} satisfies DialectBlocks

export const responses = { client, upstream, modelList, blocks } satisfies Dialect
