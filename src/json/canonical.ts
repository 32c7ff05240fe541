// Canonical texts of JSON requests: equal for equivalent requests, different for all other requests. The
// order of members and white space are ignored. Numbers are compared digit by digit, because two 64-bit seeds
// could become the same JavaScript number. Reads the text in one pass, because all calls wait meanwhile. Adds texts to
// one another instead of joining them, because joining would copy a value once for each object around it.
// Pure.

/**
 * Returns the canonical text of a JSON object without the members named in `without`. Returns null if a member
 * appears twice, since parsers disagree about it, if the nesting is too deep, or if the text ends too early. Ends for
 * any text, in time linear in it but for the sorting of names.
 */
export function canonical(json: string, without: readonly string[]): string | null {
  const tokens = new Tokens(json)
  try {
    if (tokens.next() !== '{') return null
    const members = readMembers(tokens)
    for (const name of without) members.delete(JSON.stringify(name))
    return write(members)
  } catch {
    return null
  }
}

class Tokens {
  readonly #json: string
  #at = 0

  constructor(json: string) {
    this.#json = json
  }

  /** Returns the next token: a bracket, a comma, a colon, or a whole string, number or name. */
  next(): string {
    TOKEN.lastIndex = this.#at
    const [token] = TOKEN.exec(this.#json)!
    const start = TOKEN.lastIndex - token.length
    this.#at = token === '"' ? endOfString(this.#json, start + 1) : TOKEN.lastIndex
    return this.#json.slice(start, this.#at)
  }
}

const TOKEN = /[{}[\],:"]|[^\s{}[\],:"]+/g
const QUOTE_OR_ESCAPE = /["\\]/g

/** Returns the index after a string. A single pattern would fail for a long string full of escapes. */
function endOfString(json: string, at: number): number {
  QUOTE_OR_ESCAPE.lastIndex = at
  while (QUOTE_OR_ESCAPE.exec(json)![0] === '\\') QUOTE_OR_ESCAPE.lastIndex++
  return QUOTE_OR_ESCAPE.lastIndex
}

/** Returns the canonical form of the value that begins with `first`. */
function read(tokens: Tokens, first: string): string {
  if (first === '{') return write(readMembers(tokens))
  if (first === '[') return readList(tokens)
  return first.includes('\\') ? JSON.stringify(JSON.parse(first)) : first
}

function readList(tokens: Tokens): string {
  let text = '['
  for (let token = tokens.next(); token !== ']'; token = tokens.next())
    text += token === ',' ? token : read(tokens, token)
  return `${text}]`
}

/** Returns canonical names and values. Throws for a name that appears twice. */
function readMembers(tokens: Tokens): Map<string, string> {
  const members = new Map<string, string>()
  for (let token = tokens.next(); token !== '}'; token = tokens.next()) {
    if (token === ',') continue
    const name = read(tokens, token)
    if (members.has(name)) throw new Error('a member appears twice')
    tokens.next() // the colon
    members.set(name, read(tokens, tokens.next()))
  }
  return members
}

function write(members: Map<string, string>): string {
  let text = ''
  for (const name of [...members.keys()].sort())
    text += `${text === '' ? '' : ','}${name}:${members.get(name)}`
  return `{${text}}`
}
