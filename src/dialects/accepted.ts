// Fits a request to what its model accepts, by the nearest means, and names the rest as a loss. Knows facts about models
// (src/models), no model and no dialect.
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

/** Returns the output limit, at most the model's. */
export function acceptedLimit<Limit extends number | null>(
  asked: Limit,
  { output }: Facts,
  losses: Losses,
): Limit | number {
  if (asked === null || output === undefined || asked <= output) return asked
  losses.add('max_tokens')
  return output
}

/** Returns the level of effort in one of these words, which a model with facts of its own replaces. */
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

/** Returns the sampling that the model accepts. `thinks`: it will reason in this call. */
export function acceptedSampling(
  sampling: Sampling,
  { sampling: taken = 'any' }: Facts,
  thinks: boolean,
  losses: Losses,
): Sampling {
  if (taken === 'any' || (taken.endsWith('without_thinking') && !thinks)) return sampling
  const { temperature, topP, topK } = sampling
  // Leaving a default out changes nothing.
  if ((temperature ?? 1) !== 1 || (topP ?? 1) !== 1) losses.add('sampling.temperature')
  losses.of(topK, 'sampling.top_k')
  return { ...sampling, temperature: null, topP: null, topK: null }
}

/** Returns the tool choice; one that forces a call becomes `auto` where the model refuses it. */
export function acceptedChoice(
  choice: Conversation['choice'],
  { forced_tools }: Facts,
  losses: Losses,
): Conversation['choice'] {
  if (forced_tools !== 'no' || (choice?.type !== 'required' && choice?.type !== 'tool')) return choice
  losses.add('tool_choice')
  return { type: 'auto' }
}
