// Writes a target's effort and output limit into Responses requests.
import { type Replacement, spliceMembers } from '../../json/splice.ts'
import { atMost, inside, levelFor, type Tune } from '../tuning.ts'

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('responses')
  const values: Record<string, Replacement> = {}
  const level = effort === null ? null : levelFor(effort, facts, EFFORTS)
  if (level !== null) values.reasoning = inside({ effort: JSON.stringify(level) })
  if (maxOutput !== null) values.max_output_tokens = atMost(maxOutput)
  return spliceMembers(body, values)
}
