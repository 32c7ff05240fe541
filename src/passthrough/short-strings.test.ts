import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { StringShortener } from './answer-facts.ts'

/** Shortens a text that arrives in pieces of the given lengths, repeated. */
function shortened(text: string, lengths: readonly number[]): string {
  const bytes = Buffer.from(text)
  const strings = new StringShortener()
  const kept: Buffer[] = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const next = at + lengths[n % lengths.length]!
    kept.push(strings.shorten(bytes.subarray(at, next)))
    at = next
  }
  return Buffer.concat(kept).toString('utf8')
}

const bytesIn = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

test('JSON keeps everything except strings of more than 1,024 bytes, wherever its pieces end', () => {
  const unit = fc.constantFrom('a', '"', '\\', '\n', 'é', '\u2028', '🚚', '\ud800', '/')
  const text = fc.tuple(fc.string({ unit }), fc.nat(400)).map(([some, times]) => some.repeat(times))
  const value = fc.dictionary(fc.string({ unit, maxLength: 5 }), fc.oneof(text, fc.array(text), fc.integer()))
  fc.assert(
    fc.property(value, fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1 }), (json, lengths) => {
      const expected = JSON.stringify(json, (_, each) =>
        typeof each === 'string' && bytesIn(each) > 1_024 ? '' : each,
      )
      assert.equal(shortened(JSON.stringify(json), lengths), expected)
    }),
  )
})

test('a line end closes a string, so that one quotation mark in a comment hides nothing', () => {
  const events = (picture: string) =>
    `: a "comment\n\ndata: {"b64":"${picture}","usage":{"input_tokens":1}}\n\n`
  assert.equal(shortened(events('A'.repeat(100_000)), [65_536]), events(''))
})
