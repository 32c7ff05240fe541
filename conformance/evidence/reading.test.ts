// Tests values that count as equal, and answers that are too long to read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { amountIn, isSameId, momentIn, saysWhen } from '../dialects/lookup.ts'
import type { Target } from '../target/schema.ts'
import { jsonOf, jsonValue, readEvents } from './reading.ts'

const same = (one: string, other: string): boolean => {
  try {
    assert.deepEqual(jsonValue(one), jsonValue(other))
    return true
  } catch {
    return false
  }
}

test('JSON texts are compared by meaning', () => {
  for (const [one, other] of [
    ['{"a":1,"b":[2]}', '{ "b" : [ 2.0 ], "a" : 1e0 }'],
    ['1000', '1E+3'],
    ['0.0010', '1e-3'],
    ['-0', '0.0'],
    ['"/é"', String.raw`"\/\u00e9"`],
    ['12345678901234567890', '1234567890123456789e1'],
  ] as const)
    assert.ok(same(one, other), `${one} and ${other}`)
  for (const [one, other] of [
    ['12345678901234567890', '12345678901234567000'],
    ['1', '"1"'],
    ['[1,2]', '[2,1]'],
    ['0.1', '0.10000000000000001'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":', '{"a": '],
  ] as const)
    assert.ok(!same(one, other), `${one} and ${other}`)
})

test('an integer beyond 2^53 keeps its digits, and a byte order mark is skipped', () => {
  assert.deepEqual(jsonOf('\ufeff{"id":9007199254740993,"n":17}'), { id: '9007199254740993', n: 17 })
})

test('the three HTTP date formats can denote the same time, and Retry-After may use any of them', () => {
  const moment = Date.UTC(1994, 10, 6, 8, 49, 37)
  const year = Date.UTC(2026, 10, 6, 8, 49, 37)
  assert.equal(momentIn('Sun, 06 Nov 1994 08:49:37 GMT'), moment)
  assert.equal(momentIn('Sun Nov  6 08:49:37 1994'), moment)
  assert.equal(momentIn('Friday, 06-Nov-26 08:49:37 GMT'), year)
  assert.equal(momentIn('tomorrow'), Number.NaN)
  const says = (value: string) =>
    saysWhen(7, { headers: { 'retry-after': value }, end_at: year - 7_000 }, {
      capabilities: { cooldown_ms: 0 },
    } as Target)
  for (const value of [
    '7',
    'Fri, 06 Nov 2026 08:49:37 GMT',
    'Friday, 06-Nov-26 08:49:37 GMT',
    'Fri Nov  6 08:49:37 2026',
  ])
    assert.ok(says(value), value)
  for (const value of ['1', 'soon', '', 'Fri Nov  6 08:49:31 2026']) assert.ok(!says(value), value)
})

test('an amount may have commas, a leading point, a unit or a currency, and a duration is read in milliseconds', () => {
  const amounts = {
    '1,024': 1_024,
    '.5': 0.5,
    'USD 0.25': 0.25,
    'US$0.25': 0.25,
    '12 ms': 12,
    'PT1M2.5S': 62_500,
    '0:00:01.5': 1_500,
  }
  for (const [text, amount] of Object.entries(amounts)) assert.equal(amountIn(text), amount, text)
  for (const text of ['1,02', 'none', '', '1 2']) assert.equal(amountIn(text), Number.NaN, text)
})

test('UUIDs are equal with or without capitals and hyphens, but other ids must match exactly', () => {
  const id = '01a20710-4427-75a5-823f-c4212ea511ea'
  for (const other of [id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`])
    assert.ok(isSameId(id, other), other)
  assert.ok(!isSameId(id, id.replace('01', '02')))
  assert.ok(!isSameId('abc', 'ABC'))
})

test('JSON with extremely deep nesting is not parsed, and a stream with too many events is not read to its end', () => {
  const deep = 200_000
  assert.equal(jsonOf('['.repeat(deep) + ']'.repeat(deep)), undefined)
  assert.ok(jsonOf(`{"text":${JSON.stringify('['.repeat(deep))}}`))
  assert.ok(readEvents('data: 1\n\n'.repeat(500_000)).length < 120_000)
})
