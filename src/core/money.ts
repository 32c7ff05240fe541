// Rounds amounts of money for output. Pure.

/** Significant digits. Additional digits are rounding errors of binary fractions. */
const DIGITS = 12

/** Returns US dollars rounded to twelve significant digits. All reported amounts use this rounding. */
export const roundUsd = (usd: number): number => Number(usd.toPrecision(DIGITS))
