// Parses text from outside that should be a JSON object.

export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses a JSON object; null for any other text. */
export function objectIn(text: string): JsonObject | null {
  try {
    const json: unknown = JSON.parse(text)
    return isJsonObject(json) ? json : null
  } catch {
    return null
  }
}
