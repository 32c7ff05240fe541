// That the suite has somebody to catch: every check a mutant, every mutant a check (SUITE-04). That they are really
// caught is shown by `npm run kill-matrix`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checks } from './checks.ts'
import { kill, loadMutant, mutantNames } from './mutant-run.ts'

test('every check has a mutant, and every mutant is meant for a check (SUITE-04)', async () => {
  const names = mutantNames()
  assert.ok(names.length >= 60, `${names.length} mutants`)
  const meant = new Set<string>()
  for (const name of names) {
    const { what, kills } = await loadMutant(name)
    assert.match(what, /^[A-Z].+\.$/, name)
    assert.ok(kills.length > 0, name)
    for (const id of kills) {
      assert.ok(checks.has(id) || id === 'SUITE-01', `${name}: there is no check ${id}`)
      meant.add(id)
    }
  }
  assert.deepEqual(
    [...checks.keys()].filter((id) => !meant.has(id)),
    [],
    'these checks have no mutant',
  )
})

test('the kill matrix names every mutant, and no survivor (SUITE-04)', () => {
  const document = readFileSync(new URL('../docs/kill-matrix.md', import.meta.url), 'utf8')
  const missing = mutantNames().filter((name) => !document.includes(`| ${name} |`))
  assert.deepEqual(missing, [], 'run npm run kill-matrix')
  assert.ok(document.includes(' 0 survivors;'), 'a mutant survived; see docs/kill-matrix.md')
})

test('a mutant that is not caught is called a survivor (SUITE-04)', async () => {
  const { caught, survived } = await kill('any-host', { kills: ['KEEP-06', 'CAT-03'] })
  assert.match(caught.get('KEEP-06')!, /Host evil\.example: 200/)
  assert.deepEqual([...survived.keys()], ['CAT-03'])
})
