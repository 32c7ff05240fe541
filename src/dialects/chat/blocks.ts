// How chat is translated, to and from: joins the parts.
import type { DialectBlocks } from '../blocks.ts'
import { parseAnswer, writeAnswer } from './blocks-answer.ts'
import { parseRequest } from './blocks-request.ts'
import { ChatReader, ChatWriter } from './blocks-stream.ts'
import { writeRequest } from './blocks-write.ts'

export const blocks = {
  // Every provider speaks it, and no other can read what one of them sealed.
  family: null,
  // OpenAI alone takes `custom` tools.
  tools: { name: /^[a-zA-Z0-9_-]{1,64}$/, namespaces: false, custom: false },
  parseRequest,
  writeRequest,
  parseAnswer,
  writeAnswer: (answer, _asker, losses) => writeAnswer(answer, losses),
  openReader: (peer, losses) => new ChatReader(peer, losses),
  openWriter: ({ wantsUsage }, losses) => new ChatWriter(wantsUsage, losses),
} satisfies DialectBlocks
