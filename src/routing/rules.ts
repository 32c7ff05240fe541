// Rules of a route: conditions on calls and the allowed targets; and the capabilities that a call needs and a model
// lacks (ROUTE-12). Capabilities missing in the settings are assumed to exist. Pure. Expects a checked configuration.
import type { ModelConfig, RuleConfig } from '../config/load.ts'
import { clientName, type Target, targetId } from '../core/call.ts'
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

export interface Rule {
  /** Label in the record, for example `rule 2: tools`. Numbers begin with 1. */
  readonly label: string
  readonly matches: (traits: RequestTraits) => boolean
  readonly allows: (target: Target) => boolean
}

/** Compiles the rules of a route in order. */
export const compileRules = (rules: readonly RuleConfig[]): Rule[] =>
  rules.map(({ when, use }, index) => {
    const conditions = conditionsOf(when)
    return {
      label: `rule ${index + 1}: ${conditions.map(({ label }) => label).join(', ')}`,
      matches: (traits) => conditions.every(({ holds }) => holds(traits)),
      allows: (target) =>
        use.tier === undefined ? targetId(target) === use.target : target.tier === use.tier,
    }
  })

interface Condition {
  readonly label: string
  readonly holds: (traits: RequestTraits) => boolean
}

/** Returns a rule's conditions. Checks the length last, because computing it is expensive. */
function conditionsOf({
  tools,
  images,
  effort,
  input_tokens,
  purpose,
  client,
}: RuleConfig['when']): Condition[] {
  const conditions: Condition[] = []
  if (tools !== undefined)
    conditions.push({ label: tools ? 'tools' : 'no tools', holds: (traits) => traits.tools === tools })
  if (images !== undefined)
    conditions.push({ label: images ? 'images' : 'no images', holds: (traits) => traits.images === images })
  if (effort !== undefined) {
    const efforts: readonly (string | null)[] = [effort].flat()
    conditions.push({
      label: `effort ${efforts.join(' or ')}`,
      holds: (traits) => efforts.includes(traits.effort),
    })
  }
  if (purpose !== undefined) {
    const purposes: readonly string[] = [purpose].flat()
    conditions.push({
      label: `purpose ${purposes.join(' or ')}`,
      holds: (traits) => purposes.includes(traits.purpose ?? 'main'),
    })
  }
  if (client !== undefined) {
    const clients = [client].flat().map((each) => each.toLowerCase())
    conditions.push({
      label: `client ${clients.join(' or ')}`,
      holds: (traits) => clients.includes(clientName(traits.client ?? '').toLowerCase()),
    })
  }
  const { over, under } = input_tokens ?? {}
  if (over !== undefined)
    conditions.push({ label: `input_tokens over ${over}`, holds: (traits) => traits.inputTokens > over })
  if (under !== undefined)
    conditions.push({ label: `input_tokens under ${under}`, holds: (traits) => traits.inputTokens < under })
  return conditions
}
