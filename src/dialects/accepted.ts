// Adapts a request to the limits of its model and reports the rest as losses. Reads facts about models
// (src/models); independent of the particular models and dialects.
import type { Losses } from '../core/losses.ts'
import type { Facts } from '../models/facts.ts'
import { acceptsImage, usualMediaType } from '../models/requests.ts'
import {
  type Conversation,
  effortOfBudget,
  nearestEffort,
  type ReasoningWish,
  type Sampling,
  type Source,
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

// The content of an image or a document decides its media type, not its label.

/** Beginnings of files in base64. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, 'image/jpeg'],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{6,7}XRUJQ/, 'image/webp'],
  [/^JVBERi0/, 'application/pdf'],
]

/** Returns a source with its usual media type. `image/jpg` becomes `image/jpeg`, and a JPEG that is labelled PNG, too. */
export function typedSource<Given extends Source>(source: Given): Given {
  if (source.kind === 'base64') {
    const usual = usualMediaType(source.mediaType)
    const isMedia = usual === '' || /^(image|application)\//.test(usual)
    const found = isMedia ? BEGINNINGS.find(([beginning]) => beginning.test(source.data))?.[1] : undefined
    return { ...source, mediaType: found ?? usual }
  }
  return source.kind === 'url' && source.mediaType
    ? { ...source, mediaType: usualMediaType(source.mediaType) }
    : source
}

/** Returns false for an image that providers of the dialect refuse. */
export const isAcceptedImage = (dialect: string, source: Source): boolean =>
  source.kind !== 'base64' || acceptsImage(dialect, source.mediaType)
