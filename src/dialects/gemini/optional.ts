// Members of a Gemini request that may be omitted.
import type { OptionalMember } from '../optional-members.ts'

const CONFIG = 'generationConfig'
const THINKING = [CONFIG, 'thinkingConfig'] as const

export const optional: readonly OptionalMember[] = [
  { path: [CONFIG, 'temperature'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'topP'], loss: 'sampling.temperature' },
  { path: [CONFIG, 'topK'], loss: 'sampling.top_k' },
  { path: [CONFIG, 'seed'], loss: 'sampling.seed' },
  { path: [CONFIG, 'presencePenalty'], loss: 'sampling.penalties', words: /\bpenalty is not enabled\b/i },
  { path: [CONFIG, 'frequencyPenalty'], loss: 'sampling.penalties', words: /\bpenalty is not enabled\b/i },
  { path: [...THINKING, 'thinkingLevel'], loss: 'effort', words: /\bthinking.?level\b/i, byValue: true },
  {
    path: [...THINKING, 'thinkingBudget'],
    loss: 'thinking.budget',
    words: /\bthinking.?budget\b|\bbudget \d+ is invalid\b/i,
    byValue: true,
  },
  { path: THINKING, loss: 'effort', words: /\bthinking is not (supported|enabled)\b/i },
  { path: ['labels'], loss: 'metadata' },
  { path: ['serviceTier'], loss: 'service_tier' },
]
