// Joins the parts of the messages translation.
import type { DialectBlocks } from '../blocks.ts'
import { parseAnswer, writeAnswer } from './blocks-answer.ts'
import { FAMILY } from './blocks-content.ts'
import { parseRequest } from './blocks-request.ts'
import { MessagesReader, MessagesWriter } from './blocks-stream.ts'
import { writeRequest } from './blocks-write.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z0-9_-]{1,128}$/, namespaces: false, custom: false },
  parseRequest,
  writeRequest,
  parseAnswer,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openReader: (peer, losses) => new MessagesReader(peer, losses),
  openWriter: (_asker, losses) => new MessagesWriter(losses),
} satisfies DialectBlocks
