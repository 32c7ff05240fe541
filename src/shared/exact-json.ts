// Parses JSON without a loss of digits: JSON.parse would change 18446744073709551616 and 1.0. Imports no other
// file.

/** A number that would not survive JSON.parse and JSON.stringify unchanged. */
const INEXACT = /(?:^|[-:[,\s])(\d{16,}|\d+\.\d*0\b|\d[\d.]*[eE]|-0\b|\d+\.\d{16,})/

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON
const keepSpelling: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? raw(source) : value

const parse = (text: string, reviver: Reviver): unknown =>
  JSON.parse(text, reviver as (key: string, value: unknown) => unknown)

/** Returns true if JSON.parse changes no number. */
export const isExact = (text: string): boolean => !INEXACT.test(text)

/** Numbers keep their spelling. The result is only for JSON.stringify, not for arithmetic. */
export const parseExact = (text: string): unknown =>
  isExact(text) ? JSON.parse(text) : parse(text, keepSpelling)

/** Digits that a double may not hold. */
const LONG_NUMBER = /\d{16}/

/** Parses JSON with `write` for an integer that a double cannot hold; it gets its digits. */
const parseLong =
  (write: (digits: string) => unknown) =>
  (text: string): unknown =>
    LONG_NUMBER.test(text)
      ? parse(text, (_key, value, { source = '' }) =>
          typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
            ? write(source)
            : value,
        )
      : JSON.parse(text)

/** Such an integer keeps its digits in JSON.stringify; every other number can be reckoned with. */
export const parseExactIntegers = parseLong(raw)

/** Such an integer becomes a string of its digits, so that two of them stay distinct. */
export const parseWithDigits = parseLong((digits) => digits)
