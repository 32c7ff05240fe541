import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unclear } from './run.ts'

test('words that do not lead to the fault are found', () => {
  for (const [expected, actual] of [
    ['X', 'X'],
    ['as the provider sent it: input 4, output 2', 'input 4, output 2'],
    ['as the provider sent it: X', 'X; #1 was answered with 500'],
    ['14 / 22 / 36', '14 / 22 / 0'],
    ['200 each', '200, 200, 503'],
    ['[20,5]', 'input 20'],
    ['input 0, output 0', '/'],
    ['those of the first answer', 'others'],
    ['200 with a record', '200, undefined'],
    ['200, and the answer as it was given', '200'],
    ['the same content', '12 characters, other content'],
    ['each done', '3 begun, 3 done, 3 in the last event'],
  ] as const)
    assert.notEqual(unclear({ expected, actual }), null, `${expected}, ${actual}`)
})

test('words that name what differs are clear', () => {
  for (const [expected, actual] of [
    ['0.00125', '0.0029'],
    ['200', '500'],
    ['2026-11-29', '2026-11-28'],
    ['input 14, output 22', 'input 14, output 44'],
    ['none', '2 calls, 3 records'],
    ['an error with its type', '400: {"error":{"message":"received undefined"}}'],
    ['a record', '0 interrupted, 0 attempts unknown'],
    [undefined, undefined],
  ] as const)
    assert.equal(unclear({ expected, actual }), null, `${expected}, ${actual}`)
})
