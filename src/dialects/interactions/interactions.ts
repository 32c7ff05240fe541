// Google's Interactions, the API for new Gemini models and agents. Format: Gemini API reference, "Interactions", and the
// types of `@google/genai` 3.3.
import type { DialectBlocks } from '../blocks.ts'
import type { Dialect } from '../dialect.ts'
import { FAMILY } from '../gemini/read-request.ts'
import { modelList } from '../gemini/upstream.ts'
import { client } from './client.ts'
import { parseRequest } from './read-request.ts'
import { upstream } from './upstream.ts'
import { InteractionsWriter, writeAnswer } from './write-answer.ts'
import { writeRequest } from './write-request.ts'

const blocks = {
  family: FAMILY,
  tools: { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, namespaces: false, custom: false },
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: (_asker, losses) => new InteractionsWriter(losses),
} satisfies DialectBlocks

export const interactions = { client, upstream, modelList, blocks } satisfies Dialect
