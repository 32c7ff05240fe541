// Tables and texts that are wider than the terminal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table } from './table.ts'
import { cells, wrapped } from './width.ts'

const HEAD = ['id', 'began', 'went', 'cost']
const ROW = ['id-1', '2026-11-29', 'auto → provider/model', '$1.20']
const LOOK = { shrink: ['went'], drop: ['began', 'cost'], least: { went: 15 } }
const NARROW: readonly [columns: number | null, row: string][] = [
  [null, 'id-1  2026-11-29  auto → provider/model  $1.20'],
  [46, 'id-1  2026-11-29  auto → provider/model  $1.20'],
  [45, 'id-1  2026-11-29  auto → provider/mod…  $1.20'],
  [40, 'id-1  2026-11-29  auto → provide…  $1.20'],
  [39, 'id-1  auto → provider/model  $1.20'],
  [27, 'id-1  auto → provider/model'],
  [12, 'id-1  auto …'],
]
for (const [columns, row] of NARROW)
  test(`at ${columns} columns the table is: ${row}`, () => {
    const [, shown] = table([HEAD, ROW], { ...LOOK, columns }).split('\n')
    assert.equal(shown, row)
    assert.ok(columns === null || cells(shown!) <= columns)
  })

test('a text is wrapped between its words, and only a word that is longer than a line is broken', () => {
  assert.deepEqual(wrapped('one two  three\nfour', 9), ['one two', 'three', 'four'])
  assert.deepEqual(wrapped('a abcdefghij b', 4), ['a', 'abcd', 'efgh', 'ij b'])
  const wide = wrapped('あいうえお か', 5)
  assert.equal(wide.join('').replace(' ', ''), 'あいうえおか')
  assert.ok(wide.every((line) => cells(line) <= 5))
})
