// How many values a JSON text holds, without parsing it. Every other call waits while one text is parsed, and it is
// values, not bytes, that take the time: ten megabytes of brackets take a second, ten megabytes of prose none.
// Imports no other file.

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = Buffer.from('"\\,[{')

/** Whether a JSON text holds more values than `most`; an empty list or object counts twice. Goes once over its bytes. */
export function holdsMoreValues(json: Buffer, most: number): boolean {
  if (json.length <= most) return false // a value takes a byte at least
  let values = 1
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) inString = !inString
    else if (inString) at += byte === BACKSLASH ? 1 : 0
    else if ((byte === COMMA || byte === BRACKET || byte === BRACE) && ++values > most) return true
  }
  return false
}

/** A million take half a second at most; log probabilities of 5,000 tokens have as many. */
const MOST_VALUES = 1_000_000

/** As JSON.parse; throws also where the text holds too many values. */
export function parseBounded(text: string): unknown {
  if (text.length > MOST_VALUES && holdsMoreValues(Buffer.from(text), MOST_VALUES))
    throw new RangeError(`JSON of more than ${MOST_VALUES} values`)
  return JSON.parse(text)
}
