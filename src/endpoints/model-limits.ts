// Limits and capabilities that lists of models state: a model's own, and for a route what holds for all of its targets.
// What is not known of each is null.
import type { Config } from '../config/load.ts'
import type { Facts } from '../models/facts.ts'

export interface ModelLimits {
  /** Longest input, tokens: for a route the longest window, because calls that are too long for one target go to others. */
  readonly context: number | null
  /** Largest output that may be asked, tokens. */
  readonly output: number | null
  readonly efforts: NonNullable<Facts['efforts']> | null
  readonly thinking: NonNullable<Facts['thinking']> | null
  readonly images: boolean | null
}

/** Returns the facts about a configured model, `provider/model`. */
export type FactsOf = (id: string) => Facts

/** Returns the known limits of a route or of a model. */
export function limitsOf(id: string, { routes, models }: Config, factsOf: FactsOf): ModelLimits {
  const targets = routes[id]?.targets.map(({ model }) => model) ?? [id]
  const facts = targets.map(factsOf)
  const contexts = known(facts.map(({ context }) => context))
  const outputs = known(facts.map(({ output }) => output))
  const images = known(targets.map((target) => models[target]?.capabilities?.images))
  return {
    context: contexts && Math.max(...contexts),
    output: outputs && Math.min(...outputs),
    efforts: common(facts.map(({ efforts }) => efforts)),
    thinking: common(facts.map(({ thinking }) => thinking)),
    images: images === null ? null : images.every(Boolean),
  }
}

/** Returns the values if all are known and there are any. */
const known = <Value>(values: readonly (Value | undefined)[]): readonly Value[] | null =>
  values.length > 0 && values.every((value) => value !== undefined) ? values : null

/** Returns what all lists contain, in the order of the first; null if one of them is unknown. */
function common<Word>(lists: readonly (readonly Word[] | undefined)[]): Word[] | null {
  const all = known(lists)
  return all && all[0]!.filter((word) => all.every((list) => list.includes(word)))
}
