import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeContent } from './content.ts'

test('no page of the site has a dead link, including pages made from data', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-site-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeContent(join(import.meta.dirname, '../../..'), directory)
  for (const page of [
    'index',
    'scoreboard',
    'must-fail',
    'must-pass',
    'requirements',
    'profiles',
    'profiles/core',
  ])
    assert.ok(existsSync(join(directory, `${page}.md`)), page)
  const index = readFileSync(join(directory, 'index.md'), 'utf8')
  assert.match(index, /\(\.\/must-fail\.md\)/, 'a link to the data leads to the page')
  const implementations = readFileSync(join(directory, 'implementations.md'), 'utf8')
  const [, evidence] = /\[evidence\]\((\S+)\)/.exec(implementations) ?? []
  assert.ok(evidence && existsSync(join(directory, 'public', evidence)), 'a report links to its evidence')
})
