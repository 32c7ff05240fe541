// Members of a chat request that may be left out.
import { openAiOptional } from '../openai-request.ts'
import type { OptionalMember } from '../optional-members.ts'

export const optional: readonly OptionalMember[] = [
  ...openAiOptional,
  { path: ['top_k'], loss: 'sampling.top_k' },
  { path: ['seed'], loss: 'sampling.seed' },
  { path: ['presence_penalty'], loss: 'sampling.penalties' },
  { path: ['frequency_penalty'], loss: 'sampling.penalties' },
  { path: ['logit_bias'], loss: 'sampling.penalties' },
  { path: ['reasoning_effort'], loss: 'effort', words: /\breasoning.?effort\b/i },
  { path: ['verbosity'], loss: 'verbosity' },
  { path: ['logprobs'], loss: 'logprobs' },
]
