// Which targets of a route a call may go to, by what it is like: what it needs goes first, then the rules. Pure; what
// cools down and which of them is tried first is decided elsewhere.
import { type Skipped, type Target, targetId } from '../call.ts'
import { GatewayError } from '../errors.ts'
import { lackOf } from './capabilities.ts'
import type { RequestTraits } from './request-traits.ts'
import type { Entry } from './table.ts'

export interface Choice {
  /** Never empty, in the order of the table. */
  readonly targets: readonly Target[]
  /** The rule that matched, null where none did. */
  readonly rule: string | null
  readonly skipped: readonly Skipped[]
}

/**
 * A rule whose targets all lack what the call needs does not apply; the next that matches does. Throws
 * `no_target_available` when no target has what the call needs.
 */
export function choose({ name, targets, models, rules, readsTraits }: Entry, traits: RequestTraits): Choice {
  if (!readsTraits) return { targets, rule: null, skipped: [] }
  const lacks = models.map((model) => lackOf(model, traits))
  const able = targets.filter((_, index) => lacks[index] === null)
  if (able.length === 0) throw noTarget(name, targets, lacks)
  const rule = rules.find((rule) => able.some(rule.allows) && rule.matches(traits))
  const skipped = targets.flatMap((target, index) => {
    const reason = lacks[index] ?? (rule && !rule.allows(target) ? rule.label : null)
    return reason === null ? [] : [{ target: targetId(target), reason }]
  })
  return { targets: rule ? able.filter(rule.allows) : able, rule: rule?.label ?? null, skipped }
}

/** Turns and sessions are remembered for each group of targets that calls choose among, so that rules do not mix them. */
export const groupOf = ({ name, targets }: Entry, chosen: readonly Target[]): string =>
  chosen.length === targets.length ? (name ?? '') : [name, ...chosen.map(targetId)].join('\n')

function noTarget(
  name: string | null,
  targets: readonly Target[],
  lacks: readonly (string | null)[],
): GatewayError {
  const why = targets.map((target, index) => `${targetId(target)}: ${lacks[index]}`).join('; ')
  return new GatewayError(
    'no_target_available',
    `No target of ${JSON.stringify(name)} has what this call needs (${why}). Ask for a model that has it.`,
  )
}
