// Chooses the targets of a route by the properties of a call: first its needs, then the rules. Pure.
// Cooldowns and the order of the targets are handled elsewhere.
import { type Skipped, type Target, targetId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { RequestTraits } from '../core/request-traits.ts'
import { lackOf } from './rules.ts'
import type { RouteEntry } from './table.ts'

interface Choice {
  /** Chosen targets in the order of the table; never empty. */
  readonly targets: readonly Target[]
  /** The rule that matched; null if none did. */
  readonly rule: string | null
  readonly skipped: readonly Skipped[]
}

/** State that a provider stores and a call names. */
export interface ProviderState {
  /** Name of the state in `decision.skipped`. */
  readonly what: string
  /** Provider of the state, and the model that must serve it. Null if not recorded. */
  readonly maker: { readonly provider: string; readonly model: string | null } | null
  /** Request member that cannot be translated; null if it can be translated with a loss. */
  readonly nativeOnly: string | null
  /** Returns the error if no target can have the state, or if its target is unknown. */
  readonly refusal: (why: string) => GatewayError
}

/**
 * Chooses the targets of a route. `dialect`: null ignores the providers' dialects. `staysWithModel`: a reason
 * to keep only targets with the model of the first target that speaks the dialect, unless the route may mix
 * models. A rule does not apply if all its targets lack a needed capability; the next matching rule applies.
 * Throws `no_target_available` if no target has the capabilities, and `dialect_not_spoken` if none speaks the
 * dialect.
 */
export function chooseTargets(
  entry: RouteEntry,
  traits: RequestTraits,
  dialect: string | null,
  staysWithModel?: string,
  needsNative: string | null = null,
): Choice {
  const { targets, models, dialects, rules } = entry
  const isSpoken = dialect === null || entry.spokenByAll.has(dialect)
  const stays = staysWithModel !== undefined && !entry.mixesModels && targets.length > 1
  if (isSpoken && !entry.readsTraits && !stays) return { targets, rule: null, skipped: [] }
  const nativeOnly = () => needsNative ?? traits.nativeOnly ?? null
  const speaks = (index: number) =>
    isSpoken ||
    dialects[index]!.includes(dialect!) ||
    (entry.translates(dialect!, index) && nativeOnly() === null)
  const first = stays ? targets.find((_, index) => speaks(index)) : undefined
  const lacks = targets.map((target, index) => {
    if (!speaks(index)) return `does not speak ${dialect}`
    if (first && nameOf(target) !== nameOf(first))
      return `another model than ${nameOf(first)}: ${staysWithModel}`
    return lackOf(models[index], traits)
  })
  const able = targets.filter((_, index) => lacks[index] === null)
  if (able.length === 0)
    throw isSpoken || targets.some((_, index) => speaks(index))
      ? noTarget(entry, lacks)
      : notSpoken(entry, dialect, nativeOnly())
  const rule = rules.find((rule) => able.some(rule.allows) && rule.matches(traits))
  const skipped = targets.flatMap((target, index) => {
    const reason = lacks[index] ?? (rule && !rule.allows(target) ? rule.label : null)
    return reason === null ? [] : [{ target: targetId(target), reason }]
  })
  return { targets: rule ? able.filter(rule.allows) : able, rule: rule?.label ?? null, skipped }
}

/**
 * Returns the targets for a call that names a provider's state. If the maker is recorded, it serves the call
 * even against a rule, because no other provider can. Otherwise the route must have exactly one account that
 * speaks the dialect; if not, throws the state's `refusal`.
 */
export function chooseKeeper(
  entry: RouteEntry,
  traits: RequestTraits,
  dialect: string,
  kept: ProviderState,
  staysWithModel?: string,
): Choice {
  const { targets, accountOf } = entry
  const { maker, what, refusal, nativeOnly } = kept
  if (maker) {
    const its = targets.filter(({ provider }) => accountOf(provider) === accountOf(maker.provider))
    if (its.length === 0)
      throw refusal(`it came from ${maker.provider}, which is not a target of the requested model`)
    const same = its.filter(({ model }) => model === maker.model)
    return narrowed(same.length > 0 ? same : its, `${what} is kept by ${maker.provider}`, {
      targets,
      rule: null,
      skipped: [],
    })
  }
  const native = targets.filter((_, index) => entry.dialects[index]!.includes(dialect))
  const accounts = new Map(native.map(({ provider }) => [accountOf(provider), provider]))
  if (accounts.size > 1)
    throw refusal(`which of ${[...accounts.values()].join(', ')} has it is not on record`)
  const chosen = chooseTargets(entry, traits, dialect, staysWithModel, nativeOnly)
  if (accounts.size === 0) return chosen
  const its = chosen.targets.filter((target) => native.includes(target))
  return narrowed(its.length > 0 ? its : native, `only ${native[0]!.provider} can have ${what}`, chosen)
}

/** Keeps only some targets and records the reason for skipping all other targets. */
function narrowed(its: readonly Target[], reason: string, { targets, rule, skipped }: Choice): Choice {
  const others = targets.filter((target) => !its.includes(target))
  return {
    targets: its,
    rule,
    skipped: [...skipped, ...others.map((target) => ({ target: targetId(target), reason }))],
  }
}

/** Returns a model's name without its owner, since one provider's `openai/x` is another's `x`. */
const nameOf = ({ model }: Target): string => model.slice(model.lastIndexOf('/') + 1)

/**
 * Returns the name of a group of targets. Turns and sessions are stored for each group, so that rules do not
 * mix them.
 */
export const groupOf = ({ name, targets }: RouteEntry, chosen: readonly Target[]): string =>
  chosen.length === targets.length ? (name ?? '') : [name, ...chosen.map(targetId)].join('\n')

function notSpoken(
  { name, targets, dialects }: RouteEntry,
  dialect: string,
  nativeOnly: string | null,
): GatewayError {
  const asked = JSON.stringify(name ?? targetId(targets[0]!))
  const spoken = targets
    .map((target, n) => `${targetId(target)} speaks ${dialects[n]!.join(', ')}`)
    .join('; ')
  return new GatewayError(
    'dialect_not_spoken',
    `No target of ${asked} speaks ${dialect}${nativeOnly === null ? '' : ` itself, as ${nativeOnly} needs`} (${spoken}). Ask for a model that does; the operator can add a target whose provider has it under \`dialect\`.`,
    { param: 'model' },
  )
}

function noTarget({ name, targets }: RouteEntry, lacks: readonly (string | null)[]): GatewayError {
  const why = targets.map((target, index) => `${targetId(target)}: ${lacks[index]}`).join('; ')
  const asked = JSON.stringify(name ?? targetId(targets[0]!))
  return new GatewayError(
    'no_target_available',
    `No target of ${asked} has what this call needs (${why}). Ask for a model that has it.`,
  )
}
