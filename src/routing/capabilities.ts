// Finds capabilities that a call needs and a model lacks (ROUTE-12). Uses the operator's settings for the
// model and the traits of the call. Capabilities missing in the settings are assumed to exist.
import type { ModelConfig } from '../config/load.ts'
import type { RequestTraits } from '../core/request-traits.ts'

/** Returns true if the settings of a model can exclude a call. */
export const isLimited = (model: ModelConfig | undefined): boolean =>
  model?.context !== undefined || model?.capabilities.tools === false || model?.capabilities.images === false

/** Returns the first missing capability, in words; null if the model has all of them. */
export function lackOf(model: ModelConfig | undefined, traits: RequestTraits): string | null {
  if (!model) return null
  const { capabilities, context } = model
  if (capabilities.tools === false && traits.tools) return 'no tools'
  if (capabilities.images === false && traits.images) return 'no images'
  if (context !== undefined && traits.inputTokens > context) return `context of ${context} tokens too short`
  return null
}
