// Writes a target's effort and output limit into chat completions.
import { memberText, omitMembers, spliceMembers } from '../../json/splice.ts'
import { atMost, levelFor, type Tune } from '../tuning.ts'

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('chat')
  const level = effort === null ? null : levelFor(effort, facts, EFFORTS)
  let made = level === null ? body : spliceMembers(body, { reasoning_effort: JSON.stringify(level) })
  if (level !== null && memberText(made, 'reasoning') !== undefined)
    made = omitMembers(made, [['reasoning', 'effort']])
  if (maxOutput === null) return made
  // A limit from the client keeps the client's field name. Otherwise the facts decide the name.
  const names = ['max_tokens', 'max_completion_tokens'].filter((name) => memberText(made, name) !== undefined)
  const asked = names.length > 0 ? names : [facts.chat_limit ?? 'max_tokens']
  return spliceMembers(made, Object.fromEntries(asked.map((name) => [name, atMost(maxOutput)])))
}
