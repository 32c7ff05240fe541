// Joins the parts of the Messages translation.
import type { DialectBlocks } from '../blocks.ts'
import { FAMILY } from './blocks-content.ts'
import { parseRequest } from './blocks-request.ts'
import { DEFAULT_MAX_TOKENS, writeRequest } from './blocks-write.ts'
import { MessagesWriter, writeAnswer } from './write.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z0-9_-]{1,128}$/, namespaces: false, custom: false },
  defaultOutput: DEFAULT_MAX_TOKENS,
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: (_asker, losses) => new MessagesWriter(losses),
} satisfies DialectBlocks
