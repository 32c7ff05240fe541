import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unit } from '../test/test-json-unit.ts'
import { omitMembers, spliceMembers } from './splice.ts'

const jsonValue = fc.jsonValue({ stringUnit: unit })

test('for any object and any spacing, exactly the named members change', () => {
  const object = fc.dictionary(fc.string({ unit }), jsonValue)
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, '\t', ' \r\n '), jsonValue, (value, indent, model) => {
      const text = ` ${JSON.stringify(value, null, indent)}\n`
      const spliced = spliceMembers(text, { model: JSON.stringify(model) })
      assert.deepEqual(JSON.parse(spliced), JSON.parse(JSON.stringify({ ...value, model })))
    }),
    { numRuns: 500 },
  )
})

test('for any object and any spacing, exactly the named member is removed, at the top or nested', () => {
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', ',', '"'), jsonValue)
  fc.assert(
    fc.property(object, object, fc.constantFrom(undefined, 1, '\t'), (value, inner, indent) => {
      const text = JSON.stringify({ ...value, in: inner, z: 1 }, null, indent)
      const { a: _, ...rest } = value
      const others = JSON.parse(JSON.stringify({ ...rest, in: inner, z: 1 }))
      assert.deepEqual(JSON.parse(omitMembers(text, [['a']])), others)
      const { a: __, ...inside } = inner
      const found = JSON.parse(omitMembers(text, [['in', 'a']]))
      const isEmpty = Object.keys(inside).length === 0 && Object.hasOwn(inner, 'a')
      const left = { ...value, ...(isEmpty ? {} : { in: inside }), z: 1 }
      assert.deepEqual(found, JSON.parse(JSON.stringify(left)))
    }),
    { numRuns: 500 },
  )
})

for (const [text, expected] of [
  ['{}', '{"model":"x"}'],
  ['{ "a" : 1.0 }', '{ "a" : 1.0 ,"model":"x"}'],
  ['{"model":1,"a":{"model":2}}', '{"model":"x","a":{"model":2}}'],
  ['{"model":"a","model":"b"}', '{"model":"x","model":"x"}'],
  [
    '{"mod\\u0065l":[{"}":"\\\\\\""}],"z":18446744073709551616}',
    '{"mod\\u0065l":"x","z":18446744073709551616}',
  ],
] as const)
  test(`${text} becomes ${expected}`, () => assert.equal(spliceMembers(text, { model: '"x"' }), expected))
