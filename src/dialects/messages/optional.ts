// Members of a Messages request that may be omitted or replaced.
import { Losses } from '../../core/losses.ts'
import { effortOfBudget, nearestEffort } from '../blocks.ts'
import { isObject, type Json, member } from '../json.ts'
import type { FactsIn, OptionalMember } from '../optional-members.ts'

/** Returns members that request adaptive thinking, with the accepted effort nearest to the budget. */
function adaptive({ thinking, output_config }: Json, factsOf: FactsIn): Json | null {
  const facts = factsOf('messages')
  if (facts.thinking?.includes('adaptive') === false) return null
  const budget = member(thinking, 'budget_tokens')
  const asked = typeof budget === 'number' ? effortOfBudget(budget) : null
  const effort = asked && facts.efforts ? nearestEffort(asked, facts.efforts, new Losses()) : asked
  const config = { ...(effort && { effort }), ...(isObject(output_config) ? output_config : {}) }
  return {
    thinking: { type: 'adaptive' },
    ...(Object.keys(config).length > 0 && { output_config: config }),
  }
}

export const optional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_k'], loss: 'sampling.top_k' },
  {
    path: ['thinking', 'type'],
    within: ['thinking'],
    loss: 'effort',
    words: /\b(adaptive )?thinking (is not supported|may not be enabled)/i,
    byValue: true,
    instead: {
      words: /\bthinking\.type\.enabled\b.*\buse ["'`]thinking\.type\.adaptive\b/is,
      members: adaptive,
      loss: 'thinking.budget',
    },
  },
  { path: ['output_config', 'effort'], loss: 'effort', words: /\beffort parameter\b/i },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['context_management'], loss: 'context_management' },
]
