// Members of a chat request that may be left out.
import type { OptionalMember } from '../optional-members.ts'

export const optional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_k'], loss: 'sampling.top_k' },
  { path: ['seed'], loss: 'sampling.seed' },
  { path: ['presence_penalty'], loss: 'sampling.penalties' },
  { path: ['frequency_penalty'], loss: 'sampling.penalties' },
  { path: ['logit_bias'], loss: 'sampling.penalties' },
  { path: ['reasoning_effort'], loss: 'effort', words: /\breasoning.?effort\b/i },
  { path: ['verbosity'], loss: 'verbosity' },
  { path: ['logprobs'], loss: 'logprobs' },
  { path: ['top_logprobs'], loss: 'logprobs' },
  { path: ['user'], loss: 'safety_identifier' },
  { path: ['safety_identifier'], loss: 'safety_identifier' },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['prompt_cache_key'], loss: 'prompt_cache' },
  { path: ['prompt_cache_retention'], loss: 'prompt_cache' },
]
