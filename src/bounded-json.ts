// Reads JSON of a provider within a bound: every other call waits while it is parsed, and ten megabytes of brackets take a
// second. Ground floor: knows no other file.

/** Commas and openings; a million of them takes half a second at most, log probabilities of 5,000 tokens have as many. */
const MOST_VALUES = 1_000_000

/** As JSON.parse; throws also where the text holds too many values. */
export function parseBounded(text: string): unknown {
  if (text.length > MOST_VALUES && holdsTooMany(text))
    throw new RangeError(`JSON of more than ${MOST_VALUES} values`)
  return JSON.parse(text)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b

/** Goes once over the text. */
function holdsTooMany(text: string): boolean {
  let values = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) inString = !inString
    else if (inString) at += code === BACKSLASH ? 1 : 0
    else if ((code === COMMA || code === BRACKET || code === BRACE) && ++values > MOST_VALUES) return true
  }
  return false
}
