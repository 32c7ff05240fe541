// Members of a Responses request that may be omitted.
import { openAiOptional } from '../openai-request.ts'
import type { OptionalMember } from '../optional-members.ts'

export const optional: readonly OptionalMember[] = [
  ...openAiOptional,
  { path: ['reasoning', 'effort'], whole: ['reasoning'], loss: 'effort', words: /\breasoning.?effort\b/i },
  { path: ['reasoning', 'summary'], loss: 'thinking.display' },
  { path: ['include'], loss: 'thinking.signature', words: /encrypted content is not supported/i },
  { path: ['text', 'verbosity'], loss: 'verbosity' },
]
