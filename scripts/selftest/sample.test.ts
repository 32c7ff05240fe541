import assert from 'node:assert/strict'
import test from 'node:test'
import { sample } from './results.ts'

const all = Array.from({ length: 50 }, (_, index) => `case-${index}`)

test('a sample begins with the cases affected by a change, and is the same for the same commit', () => {
  const concerned = new Set(['case-7', 'case-40'])
  const { names, about } = sample(all, 10, (name) => concerned.has(name))
  assert.equal(new Set(names).size, 10)
  assert.deepEqual(new Set(names.slice(0, 2)), concerned)
  assert.deepEqual(sample(all, 10, (name) => concerned.has(name)).names, names)
  assert.match(about, /a sample of 10 of 50, .*: 2 of the 2 .* concern, 8 others/)
  assert.notDeepEqual(names.slice(2), all.filter((name) => !concerned.has(name)).slice(0, 8))
})

test('a sample is never empty', () => {
  for (const size of [0, -1, 1.5, Number.NaN]) assert.throws(() => sample(all, size, () => false), /--sample/)
  assert.equal(sample(all, 99, () => true).names.length, 50)
})
