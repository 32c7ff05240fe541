// Size of a test run. `npm test` and `npm run test:slow` run a tenth of the kills, the fuzz cases and the captures, and a
// sample of the long tables; WAYBILL_TESTS=full runs all.

export const IS_FULL = process.env.WAYBILL_TESTS === 'full'

/** `npm run test:slow` takes another number each time, and prints it. */
const SAMPLE = Number(process.env.WAYBILL_SAMPLE ?? 0)

/** Returns all cases in a full run, and otherwise every `nth`; WAYBILL_SAMPLE decides which, so that each has its turn. */
export const sample = <T>(cases: readonly T[], nth: number): readonly T[] =>
  IS_FULL ? cases : cases.filter((_, at) => at % nth === SAMPLE % nth)
