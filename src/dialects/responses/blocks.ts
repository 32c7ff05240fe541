// Joins the parts of the Responses translation.
import type { DialectBlocks } from '../blocks.ts'
import { writeAnswer } from './blocks-answer.ts'
import { FAMILY, parseRequest } from './blocks-request.ts'
import { writeRequest } from './blocks-write.ts'
import { ResponsesWriter } from './blocks-writer.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z0-9_-]{1,64}$/, namespaces: true, custom: true },
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: (_asker, losses) => new ResponsesWriter(losses),
} satisfies DialectBlocks
