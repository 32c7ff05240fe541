// Parses JSON without losing digits. JSON.parse would change 18446744073709551616 and 1.0. Imports no other
// file.

/** A number that JSON.parse and JSON.stringify would change. */
const INEXACT = /(?:^|[-:[,\s])(\d{16,}|\d+\.\d*0\b|\d[\d.]*[eE]|-0\b|\d+\.\d{16,})/

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown
const raw = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON
const keepSpelling: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? raw(source) : value

const parse = (text: string, reviver: Reviver): unknown =>
  JSON.parse(text, reviver as (key: string, value: unknown) => unknown)

/** Returns true if JSON.parse changes no number. */
export const isExact = (text: string): boolean => !INEXACT.test(text)

/**
 * Parses JSON and keeps the digits of all numbers. The result is only for JSON.stringify, not for arithmetic.
 */
export const parseExact = (text: string): unknown =>
  isExact(text) ? JSON.parse(text) : parse(text, keepSpelling)

/** A number with more digits than a double may hold. */
const LONG_NUMBER = /\d{16}/

/** Returns a parser that calls `write` with the digits of each integer that a double cannot hold. */
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

/**
 * Parses JSON. Integers that a double cannot hold keep their digits in JSON.stringify; all other numbers
 * allow arithmetic.
 */
export const parseExactIntegers = parseLong(raw)

/**
 * Parses JSON. An integer that a double cannot hold becomes a string of its digits, so that two of them stay
 * distinct.
 */
export const parseWithDigits = parseLong((digits) => digits)
