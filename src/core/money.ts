// Rounds amounts of money for output. Pure.

/** Significant digits; the rest is rounding error of binary fractions. */
const DIGITS = 12

/** Returns US dollars rounded to twelve significant digits, as reported everywhere. */
export const roundUsd = (usd: number): number => Number(usd.toPrecision(DIGITS))
