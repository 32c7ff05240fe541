// How much a test run does: `npm test` takes a tenth of the kills, the fuzz and the captures; WAYBILL_TESTS=full, all.

export const IS_FULL = process.env.WAYBILL_TESTS === 'full'
