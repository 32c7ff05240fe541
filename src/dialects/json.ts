// Small helpers for parsed JSON, for all dialects.

export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Each of these returns the value if it has the type, else an empty one or null. */
export const listOrEmpty = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** Returns a count of tokens; null for a value that cannot be one. */
export const tokenCount = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null

/** Returns an HTTP error status; null for any other value. */
export const errorStatus = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600 ? (value as number) : null

/** Error codes that a record accepts; anything else is free text, which may contain anything. */
const CODE = /^[\w.-]{1,64}$/

export const errorCode = (value: unknown): string | null =>
  typeof value === 'number' || (typeof value === 'string' && CODE.test(value)) ? String(value) : null
