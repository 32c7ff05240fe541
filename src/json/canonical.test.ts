import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { unit } from '../test/test-json-unit.ts'
import { canonical } from './canonical.ts'

const same = (a: string, b: string) => assert.equal(canonical(a, []), canonical(b, []))

test('the order of members and the white space between them do not matter, at any depth', () => {
  same('{"a":1,"b":{"c":[1,2],"d":null}}', ' { "b" : {"d":null,\n"c":[1, 2]}, "a":1 } ')
  same('{"a":"\\u0041"}', '{"a":"A"}')
  assert.equal(canonical('{"stream":true,"a":1}', ['stream']), '{"a":1}')
})

test('a long string full of escapes is read like any other string, even with a backslash at its end', () => {
  const text = JSON.stringify({ b: '\\"\n'.repeat(500_000), a: 'C:\\' })
  const sorted = JSON.stringify({ a: 'C:\\', b: '\\"\n'.repeat(500_000) })
  assert.ok(canonical(text, []) === sorted)
})

test('requests stay different if they differ in values, in list order, or in numbers that JavaScript would round to the same number', () => {
  const different = [
    '{"seed":9007199254740993}',
    '{"seed":9007199254740992}',
    '{"seed":1e400}',
    '{"seed":1e401}',
    '{"seed":null}',
    '{"seed":"1"}',
    '{"seed":1}',
    '{"a":[1,2]}',
    '{"a":[2,1]}',
    '{"a":{"0":1,"1":2}}',
    '{"__proto__":{"x":1}}',
    '{"x":1}',
    '{}',
    '{"a":"\\ud800"}',
    '{"a":"\\ud801"}',
  ]
  assert.equal(new Set(different.map((json) => canonical(json, []))).size, different.length)
})

test('JSON with a repeated member, at any depth, has no canonical text, because parsers disagree on its meaning', () => {
  for (const json of [
    '{"a":1,"a":2}',
    '{"m":[{"b":{"c":1,"d":"x\\":","c":1}}]}',
    '{"a":1,"\\u0061":1}',
    '{"__proto__":1,"__proto__":2}',
  ])
    assert.equal(canonical(json, []), null, json)
  assert.notEqual(canonical('{"a":"\\"b\\":","b":"{\\"a\\":1,\\"a\\":2}\\\\"}', []), null)
  assert.equal(canonical(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, []), null, 'too deep')
})

test('two JSON objects have the same canonical text if and only if they are equal', () => {
  const object = fc.dictionary(
    fc.string({ unit, maxLength: 2 }),
    fc.jsonValue({ maxDepth: 2, stringUnit: unit }),
    { maxKeys: 3 },
  )
  fc.assert(
    fc.property(object, object, (a, b) => {
      const [first, second] = [JSON.stringify(a), JSON.stringify(b)]
      const text = canonical(first, [])
      assert.ok(text !== null)
      assert.deepEqual(JSON.parse(text), JSON.parse(first))
      const reversed = Object.fromEntries(Object.entries(a).reverse())
      assert.equal(canonical(JSON.stringify(reversed, null, 2), []), text)
      assert.equal(text === canonical(second, []), isDeepStrictEqual(JSON.parse(first), JSON.parse(second)))
    }),
    { numRuns: 1_000 },
  )
})
