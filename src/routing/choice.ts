// Which targets of a route a call may go to, by its properties: first what it needs, then the rules. Pure; which targets
// cool down and which of them is tried first is decided elsewhere.
import { type Skipped, type Target, targetId } from '../call.ts'
import { GatewayError, previousResponseNotFound } from '../errors.ts'
import type { RequestTraits } from '../request-traits.ts'
import { lackOf } from './capabilities.ts'
import type { Entry } from './table.ts'

export interface Choice {
  /** Never empty, in the order of the table. */
  readonly targets: readonly Target[]
  /** The rule that matched, null where none did. */
  readonly rule: string | null
  readonly skipped: readonly Skipped[]
}

/**
 * `dialect` null leaves out of account who speaks what. With `staysWithModel`, which says why, only targets with the model
 * of the first that speaks the dialect are left, unless the operator lets the route mix them. A rule whose targets all lack what the call needs does not apply;
 * the next that matches does. Throws `no_target_available` when no target has what the call needs,
 * `dialect_not_spoken` when none speaks its dialect.
 */
export function choose(
  entry: Entry,
  traits: RequestTraits,
  dialect: string | null,
  staysWithModel?: string,
): Choice {
  const { targets, models, dialects, rules } = entry
  const isSpoken = dialect === null || entry.spokenByAll.has(dialect)
  const stays = staysWithModel !== undefined && !entry.mixesModels && targets.length > 1
  if (isSpoken && !entry.readsTraits && !stays) return { targets, rule: null, skipped: [] }
  const speaks = (index: number) =>
    isSpoken ||
    dialects[index]!.includes(dialect!) ||
    (entry.translates(dialect!, index) && traits.nativeOnly == null)
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
      : notSpoken(entry, dialect, traits.nativeOnly ?? null)
  const rule = rules.find((rule) => able.some(rule.allows) && rule.matches(traits))
  const skipped = targets.flatMap((target, index) => {
    const reason = lacks[index] ?? (rule && !rule.allows(target) ? rule.label : null)
    return reason === null ? [] : [{ target: targetId(target), reason }]
  })
  return { targets: rule ? able.filter(rule.allows) : able, rule: rule?.label ?? null, skipped }
}

/** What is left where only one provider can serve the call. Throws `previous_response_not_found` when none of them is its. */
export function onlyOf(provider: string, { targets, rule, skipped }: Choice): Choice {
  const [its, others] = [true, false].map((isIts) =>
    targets.filter((t) => (t.provider === provider) === isIts),
  )
  if (its!.length === 0)
    throw previousResponseNotFound(`it came from ${provider}, which is not a target of the requested model`)
  const reason = `the previous response is kept by ${provider}`
  return {
    targets: its!,
    rule,
    skipped: [...skipped, ...others!.map((target) => ({ target: targetId(target), reason }))],
  }
}
/** A model's name without whose it is: one provider's `openai/x` is another's `x`. */
const nameOf = ({ model }: Target): string => model.slice(model.lastIndexOf('/') + 1)

/** Turns and sessions are remembered for each group of targets that calls choose among, so that rules do not mix them. */
export const groupOf = ({ name, targets }: Entry, chosen: readonly Target[]): string =>
  chosen.length === targets.length ? (name ?? '') : [name, ...chosen.map(targetId)].join('\n')

function notSpoken(
  { name, targets, dialects }: Entry,
  dialect: string,
  nativeOnly: string | null,
): GatewayError {
  const asked = JSON.stringify(name ?? targetId(targets[0]!))
  const spoken = targets
    .map((target, n) => `${targetId(target)} speaks ${dialects[n]!.join(', ')}`)
    .join('; ')
  return new GatewayError(
    'dialect_not_spoken',
    `No target of ${asked} speaks ${dialect}${nativeOnly === null ? '' : ` itself, as ${nativeOnly} needs`} (${spoken}). Ask for a model that does; the operator can add a target whose provider has ${dialect} in its \`api\`.`,
    { param: 'model' },
  )
}

function noTarget({ name, targets }: Entry, lacks: readonly (string | null)[]): GatewayError {
  const why = targets.map((target, index) => `${targetId(target)}: ${lacks[index]}`).join('; ')
  const asked = JSON.stringify(name ?? targetId(targets[0]!))
  return new GatewayError(
    'no_target_available',
    `No target of ${asked} has what this call needs (${why}). Ask for a model that has it.`,
  )
}
