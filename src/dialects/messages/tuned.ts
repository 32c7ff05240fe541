// Writes a target's effort and output limit into Messages requests. Models without effort levels accept a
// thinking budget; the budget must stay below the output limit.
import { memberText, omitMembers, type Replacement, spliceMembers } from '../../json/splice.ts'
import { budgetOfEffort } from '../blocks.ts'
import { atMost, inside, levelFor, type Tune } from '../tuning.ts'

/** Minimum thinking budget, in tokens. */
const MIN_BUDGET_TOKENS = 1_024

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('messages')
  const limited = maxOutput === null ? body : spliceMembers(body, { max_tokens: atMost(maxOutput) })
  if (effort === null) return withSmallerBudget(limited)
  const { efforts = [], thinking = ['budget', 'off'] } = facts
  if (efforts.length > 0) {
    const level = levelFor(effort, facts, efforts)
    const values: Record<string, Replacement> =
      level === null ? {} : { output_config: inside({ effort: JSON.stringify(level) }) }
    return withSmallerBudget(spliceMembers(limited, values))
  }
  const budget = effort === 'none' ? null : budgetOfEffort(effort)
  if (budget === null)
    return thinking.includes('off') ? omitMembers(limited, [['thinking']]) : withSmallerBudget(limited)
  if (!thinking.includes('budget')) return limited
  const value = JSON.stringify({ type: 'enabled', budget_tokens: budget })
  return withSmallerBudget(spliceMembers(limited, { thinking: value }))
}

/** Lowers a thinking budget below the output limit. Removes the budget if even the minimum does not fit. */
function withSmallerBudget(body: string): string {
  const most = Number(memberText(body, 'max_tokens') ?? Number.NaN)
  const budget = Number(memberText(memberText(body, 'thinking') ?? '{}', 'budget_tokens') ?? Number.NaN)
  if (!(budget >= most)) return body
  const smaller = most - MIN_BUDGET_TOKENS
  return smaller < MIN_BUDGET_TOKENS
    ? omitMembers(body, [['thinking']])
    : spliceMembers(body, { thinking: inside({ budget_tokens: String(smaller) }) })
}
