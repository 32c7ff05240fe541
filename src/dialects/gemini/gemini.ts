// Google's Gemini, the dialect of Gemini CLI. The path holds the model and the method.

import type { DialectBlocks } from '../blocks.ts'
import type { Dialect } from '../dialect.ts'
import { client } from './client.ts'
import { FAMILY, parseRequest } from './read-request.ts'
import { modelList, upstream } from './upstream.ts'
import { GeminiWriter, writeAnswer } from './write-answer.ts'
import { writeRequest } from './write-request.ts'

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

export const gemini = { client, upstream, modelList, blocks } satisfies Dialect
