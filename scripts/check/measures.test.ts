import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arrows, codeLines, commentStarts, functionsOver } from './measures.ts'

test('functions, methods and arrows are measured from their first line to their last', () => {
  const body = (indent: string) => `${indent}  a()\n`.repeat(4)
  const text = [
    `export function long(): void {\n${body('')}}`,
    `const arrow = (): void => {\n${body('')}}`,
    `class A {\n  method(): void {\n${body('  ')}  }\n}`,
    'function short(): void {\n  a()\n}',
    `function split(\n  first: number,\n): void {\n${body('')}}`,
    `const data = {\n${'  a: 1,\n'.repeat(4)}}`,
  ].join('\n')
  assert.deepEqual(functionsOver(text, 5), [
    { line: 1, lines: 6 },
    { line: 7, lines: 6 },
    { line: 14, lines: 6 },
    { line: 24, lines: 8 },
  ])
})

test('each comment is counted once by its first words', () => {
  const text =
    '// What it is.\n// More.\n\n/** Returns it. */\n/**\n * Whether so.\n * More.\n */\nconst a = 1 // beside code\n'
  assert.deepEqual(commentStarts(text), ['What it is.', 'Returns it.', 'Whether so.'])
})

test('an import between two folders of the suite is an arrow, once for each direction', () => {
  const texts = new Map([
    ['conformance/a/one.ts', "import type { B } from '../b/b.ts'\nimport { c } from './inner/c.ts'"],
    ['conformance/a/inner/c.ts', "import {\n  b,\n} from '../../b/b.ts'\nawait import('../../top.ts')"],
    ['conformance/b/b.ts', "import { d } from '../../src/d.ts'"],
    ['src/d.ts', "import { c } from '../conformance/a/inner/c.ts'"],
    ['conformance/top.ts', "import './b/b.ts'"],
  ])
  assert.deepEqual(
    [...arrows(texts)],
    ['conformance/a -> conformance/b', 'conformance/a -> conformance/', 'conformance/ -> conformance/b'],
  )
})

test('lines of code are counted without comments and blank lines', () => {
  assert.equal(codeLines('// One.\n\n/** Two.\n * Three.\n */\nconst a = 1 // four\n'), 1)
  assert.equal(codeLines('# A row.\nname:\n  what: b\n'), 2)
})
