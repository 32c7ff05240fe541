// Members of a messages request that may be left out.
import type { OptionalMember } from '../optional-members.ts'

export const optional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_k'], loss: 'sampling.top_k' },
  {
    path: ['thinking'],
    loss: 'effort',
    words: /\b(adaptive )?thinking (is not supported|may not be enabled)/i,
  },
  { path: ['output_config', 'effort'], loss: 'effort', words: /\beffort parameter\b/i },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['context_management'], loss: 'context_management' },
]
