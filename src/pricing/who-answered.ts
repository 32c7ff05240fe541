// Decides by which name a call is priced, if its answer names another model than the one that was asked. Knows which
// names have a price, and no prices. Pure.
import { bareName, datesIn, isCatalogueName, isOtherModel } from '../shared/model-names.ts'

/** Knowledge about the names at a provider. */
export interface KnownNames {
  /** Returns the name under which a model has a price; null if it has none. */
  priced(name: string): string | null
  /** Returns true if the operator set the price of this very name. */
  isSet(name: string): boolean
  /** Returns true for the name of a model that is known at any provider. */
  isPublic(name: string): boolean
  /** Returns true if two priced names have different prices. */
  differ(a: string, b: string): boolean
}

/** Returns the name by which a call is priced; null if another model answered whose price is unknown. */
export function pricedName(asked: string, answered: string, names: KnownNames): string | null {
  const [ofAsked, ofAnswered] = [names.priced(asked), names.priced(answered)]
  if (!isOtherModel(asked, answered)) {
    if (ofAsked === null) return ofAnswered ?? asked
    const isOfOtherDate = datesIn(answered) !== '' && datesIn(answered) !== datesIn(asked)
    const hasOwn = isOfOtherDate && !names.isSet(asked) && ofAnswered !== null
    return hasOwn && names.differ(ofAsked, ofAnswered) ? ofAnswered : ofAsked
  }
  if (ofAnswered !== null && names.isSet(ofAnswered)) return ofAnswered
  const isSet = names.isSet(asked)
  // The operator's own name for a deployment says nothing about its model, so its price holds whatever answers.
  if (isSet && !names.isPublic(asked) && !isCatalogueName(asked)) return asked
  if (ofAnswered !== null) return ofAnswered
  const isNamed = names.isPublic(answered) || isCatalogueName(answered) || isOfFamily(asked, answered)
  return isNamed || (ofAsked !== null && !isSet) ? null : asked
}

/** Returns true if both names begin with the same word of a maker, such as `claude`. */
const isOfFamily = (a: string, b: string): boolean => familyOf(a) !== '' && familyOf(a) === familyOf(b)

const familyOf = (name: string): string => /^[a-z]*/.exec(bareName(name.toLowerCase()))![0]
