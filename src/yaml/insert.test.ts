// An entry is added, and every other byte of the file stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { withEntry } from './yaml.ts'

const FILES = {
  block:
    '# top\nproviders:\n  # first\n  a: { x: 1 } # behind\n  b:\n    x: 2   # deep\n\n# routes\nroutes: {}\n',
  'four spaces': 'providers:\n    a:\n        x: 1\nroutes: {}\n',
  flow: 'providers: { a: { x: 1 } } # behind\nroutes: {}\n',
  'flow on lines': 'providers: {\n  a: { x: 1 }, # first\n  b: { x: 2 }, # second\n}\n',
  empty: 'providers: {}\n# end\n',
  nothing: '# top\nproviders: # none yet\nroutes: {}\n',
  absent: '# top\nroutes: {}\n',
  'no line end': 'providers:\n  a: { x: 1 }',
  windows: 'providers:\r\n  a: { x: 1 }\r\nroutes: {}\r\n',
  'empty file': '',
  'a text of lines': 'providers:\n  a:\n    x: |\n      one\n      two\n\nroutes: {}\n',
}

for (const [form, text] of Object.entries(FILES))
  test(`an entry is added to a mapping, and the rest stays: ${form}`, () => {
    const changed = withEntry(text, ['providers'], 'new one', { y: 'a: b', list: ['p', 'q'] })
    assert.deepEqual(parse(changed).providers['new one'], { y: 'a: b', list: ['p', 'q'] })
    // The old text, in its order, is left after the new characters are taken out.
    let at = 0
    for (const character of changed) if (character === text[at]) at++
    if (form !== 'empty') assert.equal(at, text.length, changed)
    assert.equal(changed.includes('\r\n'), text.includes('\r\n'))
    assert.deepEqual(withEntry(changed, ['providers'], 'more', 1).length > changed.length, true)
  })

test('an entry is added to a list, also to a nested one', () => {
  const text =
    'routes:\n  auto:\n    targets:\n      - { model: a/b }   # first\n      - model: c/d\n# end\nkeys: []\n'
  const once = withEntry(text, ['routes', 'auto', 'targets'], null, { model: 'e/f' })
  assert.equal(once, text.replace('c/d\n', 'c/d\n      - { model: e/f }\n'))
  assert.deepEqual(parse(withEntry(once, ['keys'], null, { name: 'k' })).keys, [{ name: 'k' }])
  assert.deepEqual(parse(withEntry('a: 1\n', ['keys'], null, { name: 'k' })).keys, [{ name: 'k' }])
})

test('a file without a place for the entry is refused with the entry', () => {
  for (const [text, path] of [
    ['a: &x { b: 1 }\nproviders: *x\n', ['providers']],
    ['routes: {}\n', ['routes', 'auto', 'targets']],
    ['providers: text\n', ['providers']],
  ] as const)
    assert.throws(() => withEntry(text, path, 'n', 1), /by hand|undefined|Cannot/)
})
