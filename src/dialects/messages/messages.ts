// Anthropic's Messages, the dialect of Claude Code.

import type { DialectBlocks } from '../blocks.ts'
import type { Dialect } from '../dialect.ts'
import { client } from './client.ts'
import { FAMILY, parseRequest } from './read-request.ts'
import { modelList, upstream } from './upstream.ts'
import { MessagesWriter, writeAnswer } from './write-answer.ts'
import { DEFAULT_MAX_TOKENS, writeRequest } from './write-request.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z0-9_-]{1,128}$/, namespaces: false, custom: false },
  defaultOutput: DEFAULT_MAX_TOKENS,
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: (_asker, losses) => new MessagesWriter(losses),
} satisfies DialectBlocks

export const messages = { client, upstream, modelList, blocks } satisfies Dialect
