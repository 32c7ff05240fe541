// Writes a target's effort and output limit in Gemini's dialect. Models without levels accept a thinking
// budget.
import { type Replacement, spliceMembers } from '../../json/splice.ts'
import { budgetOfEffort } from '../blocks.ts'
import { atMost, inside, levelFor, type Tune } from '../tuning.ts'

/** Minimum and maximum thinking budget that every thinking model accepts, in tokens. */
export const BUDGET_TOKENS = [1, 24_576] as const
/** Thinking levels in Gemini's dialect. A model may accept fewer. */
export const LEVELS = ['minimal', 'low', 'medium', 'high']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('gemini')
  const values: Record<string, Replacement> = {}
  if (maxOutput !== null) values.maxOutputTokens = atMost(maxOutput)
  const { thinking = ['budget', 'off'], budget: range = BUDGET_TOKENS } = facts
  const level = effort !== null && thinking.includes('level') ? levelFor(effort, facts, LEVELS) : null
  const tokens = effort === 'none' && thinking.includes('off') ? 0 : effort && budgetOfEffort(effort)
  if (level !== null) values.thinkingConfig = inside({ thinkingLevel: JSON.stringify(level) })
  else if (typeof tokens === 'number') {
    const budget = tokens === 0 ? 0 : Math.max(range[0], Math.min(tokens, range[1]))
    values.thinkingConfig = inside({ thinkingBudget: String(budget) })
  }
  return Object.keys(values).length > 0 ? spliceMembers(body, { generationConfig: inside(values) }) : body
}
