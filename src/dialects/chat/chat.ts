// OpenAI's chat completions, the dialect of most providers and clients.

import { isOff } from '../accepted.ts'
import type { DialectBlocks } from '../blocks.ts'
import type { Dialect } from '../dialect.ts'
import { modelList } from '../openai.ts'
import { client } from './client.ts'
import { parseRequest } from './read-request.ts'
import { upstream } from './upstream.ts'
import { ChatWriter, writeAnswer } from './write-answer.ts'
import { writeRequest } from './write-request.ts'

export const blocks = {
  // Many providers speak chat, and none can read the opaque reasoning of another.
  family: null,
  // Only OpenAI accepts `custom` tools.
  tools: { name: /^[a-zA-Z0-9_-]{1,64}$/, namespaces: false, custom: false },
  takesTools: ({ chat_tools }, reasoning) =>
    chat_tools !== 'no' && (chat_tools !== 'effort_none' || (reasoning !== null && isOff(reasoning))),
  parseRequest,
  writeRequest,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openWriter: ({ wantsUsage }, losses) => new ChatWriter(wantsUsage, losses),
} satisfies DialectBlocks

export const chat = { client, upstream, modelList, blocks } satisfies Dialect
