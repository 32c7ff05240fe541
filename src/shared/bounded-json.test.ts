import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdsMoreValues } from './bounded.ts'

/** Counts values byte by byte. */
function valuesIn(json: Buffer): number {
  let values = 1
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const character = String.fromCharCode(json[at]!)
    if (character === '"') inString = !inString
    else if (inString && character === '\\') at++
    else if (!inString && ',[{'.includes(character)) values++
  }
  return values
}

test('values are counted alike in short and long strings, with quotes and backslashes anywhere', () => {
  for (let seed = 1; seed <= 3_000; seed++) {
    let state = seed
    const random = (below: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
    const parts = [
      '"',
      '\\',
      '\\"',
      '\\\\',
      ',',
      '[',
      '{',
      'x',
      'x'.repeat(random(200)),
      '\\'.repeat(random(9)),
    ]
    const text = Array.from({ length: random(40) }, () => parts[random(parts.length)]).join('')
    const json = Buffer.from(`${text}${','.repeat(50)}${' '.repeat(50)}`)
    const values = valuesIn(json)
    assert.equal(holdsMoreValues(json, values), false, text)
    if (values > 1) assert.ok(holdsMoreValues(json, values - 1), text)
  }
})
