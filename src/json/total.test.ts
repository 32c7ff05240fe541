// Everything that searches text from outside ends for any text: with a result or with its own error, in time linear in
// the text. WAYBILL_FUZZ sets the number of random texts, and WAYBILL_FUZZ_SEED repeats those of a seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clock } from '../shared/clock.ts'
import { unit as plain } from '../test/test-json-unit.ts'
import { Mutator } from '../test/test-mutations.ts'
import { processorMs } from '../test/test-processor-time.ts'
import { REPEATED, SCANNERS } from '../test/test-scanners.ts'
import { elementsOf, JsonStructureError, memberText, omitMembers, spliceMembers } from './splice.ts'

const FUZZ = Number(process.env.WAYBILL_FUZZ ?? 200)
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? clock.now() % 2 ** 31)
const unit = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(...'{}[]",:\\ \n019.eE+-tfnul', '"a"', '"\\u0061"', '{"a":', '[1'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.constantFrom('\ud800', '\udfff', '\ufeff', '\r', '\u0000') },
)
const random = fc.string({ unit, maxLength: 60 })
const indent = fc.constantFrom(undefined, 1, '\t')
const json = fc
  .tuple(
    fc.dictionary(
      fc.constantFrom('a', 'model', 'item', '__proto__', '"', '\\'),
      fc.jsonValue({ maxDepth: 3 }),
    ),
    fc.constantFrom(undefined, 1, '\t'),
  )
  .map(([value, indent]) => JSON.stringify(value, null, indent))
const mutated = fc.tuple(json, fc.nat()).map(([text, seed]) => new Mutator(seed).mutate(text))
const any = fc.oneof(
  random,
  json,
  mutated,
  random.map((text) => `{"a":${text}`),
  random.map((text) => `[${text}`),
)

test('every function that searches text from outside ends for any text', (t) => {
  t.diagnostic(`seed ${SEED}, ${FUZZ} texts (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
  fc.assert(
    fc.property(any, (text) => {
      for (const [name, run] of SCANNERS)
        try {
          run(text)
        } catch (cause) {
          throw new Error(name, { cause })
        }
    }),
    { numRuns: FUZZ, seed: SEED },
  )
})

test('an object or a list that is cut off anywhere is an error, and every function ends', () => {
  const text = '{ "a\\"" : [1.0 , {"b":"\\\\"} ,"}"], "item" : {"a":{"a":1}} ,"z":"\\ud83d\\ude00,]"}'
  JSON.parse(text)
  for (let end = 0; end < text.length; end++) {
    const cut = text.slice(0, end)
    assert.throws(() => spliceMembers(cut, { a: '1' }), JsonStructureError, cut)
    assert.throws(() => omitMembers(cut, [['a']]), JsonStructureError, cut)
    if (end > 1) assert.throws(() => memberText(cut, 'a'), JsonStructureError, cut)
    assert.throws(() => elementsOf(`[${cut}`), JsonStructureError, cut)
    for (const [, run] of SCANNERS) run(cut)
  }
})

test('values are found as JSON.parse finds them, for any object', () => {
  const value = fc.jsonValue({ stringUnit: plain, maxDepth: 3 })
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c', ','), value), indent, (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      for (const [name, own] of Object.entries(JSON.parse(text))) {
        assert.deepEqual(JSON.parse(memberText(text, name)!), own)
        const list = JSON.stringify([own, own], null, indent)
        assert.deepEqual(
          elementsOf(list).map((each) => JSON.parse(each)),
          [own, own],
        )
      }
      const { a: _, b: __, ...others } = JSON.parse(text)
      assert.deepEqual(JSON.parse(omitMembers(text, [['b'], ['a']])), others)
    }),
    { numRuns: 200, seed: SEED },
  )
})

/** Bytes for which a search that is quadratic takes far longer than the limit. */
const BYTES = 2 ** 14
const MAX_MS = 100

test('every function takes time linear in the text', () => {
  const slow: string[] = []
  for (const repeated of REPEATED)
    for (const begin of ['', '{"a":"']) {
      const text = `${begin}${repeated.repeat(BYTES / repeated.length)}\r`
      for (const [name, run] of SCANNERS) {
        const start = processorMs()
        run(text)
        const ms = processorMs() - start
        if (ms > MAX_MS) slow.push(`${name}: ${Math.round(ms)} ms for ${begin}${JSON.stringify(repeated)}…`)
      }
    }
  assert.deepEqual(slow, [])
})
