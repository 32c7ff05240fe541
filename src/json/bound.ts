// How many values a JSON text holds, without parsing it. Every other call waits while one text is parsed, and it is
// values, not bytes, that take the time: ten megabytes of brackets take seconds, ten megabytes of prose none.

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
