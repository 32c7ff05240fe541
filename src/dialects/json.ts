// Small questions about parsed JSON, for all dialects.

export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Of what may be anything: a list, a text, a number; an empty one or null where it is none. */
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** A count of tokens; anything that cannot be one was not reported. */
export const count = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null

/** A status of HTTP that stands for an error; null for any other value. */
export const errorStatus = (value: unknown): number | null =>
  Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600 ? (value as number) : null

/** What a record may have as the code of an error; anything else is text, and text may contain anything. */
const CODE = /^[\w.-]{1,64}$/

export const errorCode = (value: unknown): string | null =>
  typeof value === 'number' || (typeof value === 'string' && CODE.test(value)) ? String(value) : null
