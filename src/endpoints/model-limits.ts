// Limits and capabilities in lists of models. A route has the limits and capabilities that all of its targets
// share. Unknown values are null.
import type { Config } from '../config/load.ts'
import type { Facts } from '../models/facts.ts'

export interface ModelLimits {
  /**
   * Longest input, tokens. For a route, this is the longest window of its targets, because calls that are too
   * long for one target use other targets.
   */
  readonly context: number | null
  /** Largest output that may be requested, tokens. */
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

/** Returns the values if there are some and all of them are known. */
const known = <Value>(values: readonly (Value | undefined)[]): readonly Value[] | null =>
  values.length > 0 && values.every((value) => value !== undefined) ? values : null

/** Returns the words that all lists contain, in the order of the first list; null if one list is unknown. */
function common<Word>(lists: readonly (readonly Word[] | undefined)[]): Word[] | null {
  const all = known(lists)
  return all && all[0]!.filter((word) => all.every((list) => list.includes(word)))
}
