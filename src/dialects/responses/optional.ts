// Members of a responses request that may be left out.
import type { OptionalMember } from '../optional-members.ts'

export const optional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['reasoning', 'effort'], whole: ['reasoning'], loss: 'effort', words: /\breasoning.?effort\b/i },
  { path: ['reasoning', 'summary'], loss: 'thinking.display' },
  { path: ['include'], loss: 'thinking.signature', words: /encrypted content is not supported/i },
  { path: ['text', 'verbosity'], loss: 'verbosity' },
  { path: ['top_logprobs'], loss: 'logprobs' },
  { path: ['user'], loss: 'safety_identifier' },
  { path: ['safety_identifier'], loss: 'safety_identifier' },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['prompt_cache_key'], loss: 'prompt_cache' },
  { path: ['prompt_cache_retention'], loss: 'prompt_cache' },
]
