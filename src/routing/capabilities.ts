// What a model lacks for a call, in words (ROUTE-12). Knows the operator's settings for the model and the call's shape;
// a model is assumed to have what the settings do not mention.
import type { ModelConfig } from '../config.ts'
import type { RequestTraits } from '../request-traits.ts'

/** Whether anything is said of a model that can keep a call away. */
export const isLimited = (model: ModelConfig | undefined): boolean =>
  model?.context !== undefined || model?.capabilities.tools === false || model?.capabilities.images === false

/** The first thing that a call needs and the model has not; null where it has everything. */
export function lackOf(model: ModelConfig | undefined, traits: RequestTraits): string | null {
  if (!model) return null
  const { capabilities, context } = model
  if (capabilities.tools === false && traits.tools) return 'no tools'
  if (capabilities.images === false && traits.images) return 'no images'
  if (context !== undefined && traits.inputTokens > context) return `context of ${context} tokens too short`
  return null
}
