// Tests that the blocks of a page are found, and that different output is reported.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandBlocks, commandsOf, wasPrinted } from './place.ts'

const PAGE = `# A page

\`\`\`sh not-run="needs a key" exit=1
one
\`\`\`

- in a list:

  \`\`\`console runs-on="ready"
  $ echo a \\
      b
  a b
  $ cat
  \`\`\`
`

test('code blocks are read with their line, attributes and text, even in lists', () => {
  const [first, second] = commandBlocks(PAGE)
  assert.deepEqual(first, {
    line: 3,
    language: 'sh',
    attributes: { 'not-run': 'needs a key', exit: '1' },
    text: 'one\n',
  })
  assert.deepEqual(second?.attributes, { 'runs-on': 'ready' })
  assert.deepEqual(commandsOf(second!), [
    { command: 'echo a \\\n    b', output: 'a b\n' },
    { command: 'cat', output: '\n' },
  ])
})

test('a console block without a prompt is refused', () => {
  assert.throws(
    () => commandsOf({ line: 1, language: 'console', attributes: {}, text: 'echo a\n' }),
    /begins with/,
  )
})

test('output that differs is reported, and … matches any text', () => {
  assert.ok(wasPrinted('in … ms\n', 'in 12 ms  \n\n'))
  assert.ok(wasPrinted('first\n…\nlast', 'first\nsecond\nthird\nlast\n'))
  assert.ok(!wasPrinted('in … ms', 'in 12 s'))
  assert.ok(!wasPrinted('a.c', 'abc'))
  assert.ok(!wasPrinted('first', 'first\nsecond'))
  assert.ok(!wasPrinted('', 'something'))
})
