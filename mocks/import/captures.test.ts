// Tests the readers on the optional captures: real recordings from other projects, which are not part of this
// repository.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { exchangesOf } from './read.ts'
import { CAPTURES, withoutCaptures } from './test-captures.ts'

test('the readers find exactly the interactions that the index lists', { skip: withoutCaptures }, (t) => {
  const listed = readFileSync(join(CAPTURES, 'index.tsv'), 'utf8').trim().split('\n').slice(1)
  const counted: Record<string, number> = {}
  const read = [...new Set(listed.map((line) => line.split('\t')[0]!))].flatMap((file) => {
    const interactions = exchangesOf(file, readFileSync(join(CAPTURES, file)))
    const folder = file.slice(0, file.indexOf('/'))
    counted[folder] = (counted[folder] ?? 0) + interactions.length
    return interactions.map(({ method, status, responseBody }, i) => {
      const bytes = responseBody.length > 0 ? 'body' : 'empty'
      return [file, i + 1, method, status, bytes].join('\t')
    })
  })
  t.diagnostic(JSON.stringify({ ...counted, all: read.length }))

  const expected = listed.map((line) => {
    const [file, position, , , method, status, , flags = ''] = line.split('\t')
    return [file, position, method, status, flags.includes('empty_body') ? 'empty' : 'body'].join('\t')
  })
  assert.deepEqual(read.sort(), expected.sort())
  assert.deepEqual({ ...counted, ...countsOf(readFileSync(join(CAPTURES, 'README.md'), 'utf8')) }, counted)
})

/** Interactions in each folder, as the captures' own table lists them. */
function countsOf(readme: string): Record<string, number> {
  const rows = [...readme.matchAll(/^\| `([\w-]+)\/` \|[^|]*\|[^|]*\|[^|]*\| (\d+) \|/gm)]
  assert.ok(rows.length > 0, 'the captures have no table of folders')
  return Object.fromEntries(rows.map(([, folder, count]) => [folder, Number(count)]))
}
