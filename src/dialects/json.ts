// Small helpers for parsed JSON, used by all dialects.

export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Returns the value if it is a list, or else an empty list. The helpers below do the same for other types. */
export const listOrEmpty = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** Maximum token count of one call. SQLite's sum of integers fails beyond 2^63. */
const MAX_TOKENS = 1e12

/** Returns a number of tokens; null if the value cannot be one. Some servers send the digits as a text. */
export const tokenCount = (value: unknown): number | null => {
  const count = typeof value === 'string' && /^\d{1,13}$/.test(value) ? Number(value) : value
  return Number.isInteger(count) && (count as number) >= 0 && (count as number) <= MAX_TOKENS
    ? (count as number)
    : null
}

/** Returns the value if it is an HTTP error status; null otherwise. */
export const errorStatus = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600 ? (value as number) : null

/** Error codes that a record accepts. Any other value is free text with unknown content. */
const CODE = /^[\w.-]{1,64}$/

export const errorCode = (value: unknown): string | null =>
  typeof value === 'number' || (typeof value === 'string' && CODE.test(value)) ? String(value) : null
