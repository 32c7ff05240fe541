// Adapts a request to the limits of its model and reports the rest as losses. Reads facts about models
// (src/models); independent of the particular models and dialects.
import type { Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import {
  type Conversation,
  effortOfBudget,
  nearestEffort,
  type ReasoningWish,
  type Sampling,
} from './blocks.ts'

/** Returns true if the client asked the model not to reason. */
export const isOff = ({ effort, on }: ReasoningWish): boolean => effort === 'none' || on === false

/** Returns the output limit, capped at the model's maximum. */
export function acceptedLimit<Limit extends number | null>(
  asked: Limit,
  { output }: Facts,
  losses: Losses,
): Limit | number {
  if (asked === null || output === undefined || asked <= output) return asked
  losses.add('max_tokens')
  return output
}

/** Returns the effort as one of `words`, or as one of the model's own words if the facts list them. */
export function acceptedEffort(
  wish: ReasoningWish,
  { efforts = undefined }: Facts,
  words: readonly string[],
  losses: Losses,
): string | null {
  const { effort, budget } = wish
  const taken: readonly string[] = efforts ?? words
  if (isOff(wish)) {
    if (taken.includes('none')) return 'none'
    losses.add('thinking.off')
    return taken[0] ?? null
  }
  if (budget !== null) losses.add('thinking.budget')
  const asked = effort ?? (budget === null ? null : effortOfBudget(budget))
  return asked === null ? null : nearestEffort(asked, taken, losses)
}

/** Returns the sampling parameters that the model accepts. `thinks`: true if the model will reason. */
export function acceptedSampling(
  sampling: Sampling,
  { sampling: taken = 'any' }: Facts,
  thinks: boolean,
  losses: Losses,
): Sampling {
  if (taken === 'any' || (taken.endsWith('without_thinking') && !thinks)) return sampling
  const { temperature, topP, topK } = sampling
  // Omitting a default value changes nothing.
  if ((temperature ?? 1) !== 1 || (topP ?? 1) !== 1) losses.add('sampling.temperature')
  losses.of(topK, 'sampling.top_k')
  return { ...sampling, temperature: null, topP: null, topK: null }
}

/** Returns the tool choice. A choice that forces a call becomes `auto` if the model refuses forced calls. */
export function acceptedChoice(
  choice: Conversation['choice'],
  { forced_tools }: Facts,
  losses: Losses,
): Conversation['choice'] {
  if (forced_tools !== 'no' || (choice?.type !== 'required' && choice?.type !== 'tool')) return choice
  losses.add('tool_choice')
  return { type: 'auto' }
}
