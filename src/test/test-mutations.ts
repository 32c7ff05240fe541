// Mutated text for fuzz tests: cut, joined, repeated, with other values and stray bytes. The same seed gives the same
// text. Faster than fast-check, for millions of cases.

/** Pieces that confuse readers of JSON and of events. */
const TOKENS = [
  ...[
    '"',
    '\\',
    '\\"',
    '\\u0022',
    '\\ud800',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '{}',
    '[]',
    '""',
    '{"',
    '"]',
  ],
  ...['null', 'true', '0', '-1', '1.5', '1e9', '1e999', '-0', '4294967294', '9007199254740993', 'NaN', 'nul'],
  ...[
    '"__proto__":',
    '"type":',
    '"id":',
    '"index":',
    '"output_index":',
    '"item":',
    '"response":',
    '"model":',
  ],
  ...['\n', '\r', '\r\n', '\n\n', '\ndata: ', '\nevent: x', 'data:', 'event: error\n', ': x\n', '[DONE]'],
  ...['\ufeff', '\ufffd', '\u0000', '\u2028', '\ud83d', '👋', 'é'],
] as const

/** Values of members. */
const VALUES = ['null', '"x"', '5', '-1', '1e300', 'true', '{}', '[]', '[null]', '{"a":1}', '""'] as const

const VALUE = /(:\s*)("(?:[^"\\]|\\.){0,40}"|-?\d+|true|false|null|\{\}|\[\])/g

export class Mutator {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** Returns a whole number from 0 up to `below`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!
  }

  /** Returns the text with some mutations; one text in eight stays unchanged. */
  mutate(text: string): string {
    let made = text
    for (let left = this.below(8) === 0 ? 0 : 1 + this.below(3); left > 0; left--) made = this.#once(made)
    return made
  }

  /** Returns the text in pieces of any size. */
  pieces(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + this.below(this.below(4) === 0 ? 8 : 2_000)
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    return pieces
  }

  #once(text: string): string {
    const [at, to] = [this.below(text.length + 1), this.below(text.length + 1)]
    const [from, until] = at < to ? [at, to] : [to, at]
    switch (this.below(8)) {
      case 0:
        return text.slice(0, at)
      case 1:
        return text + this.pick([...TOKENS, text])
      case 2:
        return text.slice(0, from) + text.slice(Math.min(until, from + 30))
      case 3:
        return text.slice(0, until) + text.slice(Math.max(from, until - 60))
      case 4:
      case 5: {
        const values = [...text.matchAll(VALUE)]
        if (values.length === 0) return text
        const { index, 0: whole, 1: before } = this.pick(values)
        return text.slice(0, index) + before + this.pick(VALUES) + text.slice(index + whole.length)
      }
      default:
        return text.slice(0, at) + this.pick(TOKENS) + text.slice(at)
    }
  }
}
