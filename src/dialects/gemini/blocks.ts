// Joins the parts of the Gemini translation.
import type { DialectBlocks } from '../blocks.ts'
import { FAMILY, parseRequest } from './blocks-request.ts'
import { writeRequest } from './blocks-write.ts'
import { GeminiWriter, writeAnswer } from './write.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, namespaces: false, custom: false },
  streamsByPath: true,
  parseRequest,
  writeRequest,
  // Without server-sent events, a stream is a list of answers.
  writeAnswer(answer, { path }, losses) {
    const written = writeAnswer(answer, losses)
    return path?.endsWith(':streamGenerateContent') ? [written] : written
  },
  openWriter: (_asker, losses) => new GeminiWriter(losses),
} satisfies DialectBlocks
