// Size of a test run. `npm test` runs a tenth of the kills, the fuzz cases and the captures;
// WAYBILL_TESTS=full runs all.

export const IS_FULL = process.env.WAYBILL_TESTS === 'full'
