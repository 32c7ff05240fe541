// Joins the parts of the Gemini translation.
import type { DialectBlocks } from '../blocks.ts'
import { parseAnswer, writeAnswer } from './blocks-answer.ts'
import { FAMILY, parseRequest } from './blocks-request.ts'
import { GeminiReader, GeminiWriter } from './blocks-stream.ts'
import { writeRequest } from './blocks-write.ts'

export const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, namespaces: false, custom: false },
  streamsByPath: true,
  parseRequest,
  writeRequest,
  parseAnswer,
  // Without server-sent events, a stream is a list of answers.
  writeAnswer(answer, { path }, losses) {
    const written = writeAnswer(answer, losses)
    return path?.endsWith(':streamGenerateContent') ? [written] : written
  },
  openReader: (peer, losses) => new GeminiReader(peer, losses),
  openWriter: (_asker, losses) => new GeminiWriter(losses),
} satisfies DialectBlocks
