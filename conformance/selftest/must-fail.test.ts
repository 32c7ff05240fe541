// That the suite has somebody to catch: every check a fault, every fault a check (SUITE-04). That they are really
// caught is shown by `npm run selftest -- must-fail`.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checks } from '../checks/registry.ts'
import { withoutDialect } from '../requirements/applicability.ts'
import { requirementOf, tryFault } from './fault-run.ts'
import { faults } from './must-fail/registry.ts'

test('every check has a fault, and every fault is meant for a check (SUITE-04)', () => {
  assert.ok(faults.size >= 60, `${faults.size} faults`)
  const meant = new Set<string>()
  for (const [name, { what, caughtBy }] of faults) {
    assert.match(what, /^[A-Z].+\.$/, name)
    assert.ok(caughtBy.length > 0, name)
    for (const id of caughtBy) {
      const check = requirementOf(id)
      assert.ok(checks.has(check) || id === 'SUITE-01', `${name}: there is no check ${id}`)
      meant.add(check)
    }
  }
  assert.deepEqual(
    [...checks.keys()].filter((id) => id === withoutDialect(id) && !meant.has(id)),
    [],
    'these checks have no fault',
  )
})

test('every fault has a result, and none survived (SUITE-04)', () => {
  const { gateways } = JSON.parse(
    readFileSync(new URL('../../docs/selftest/must-fail.json', import.meta.url), 'utf8'),
  )
  assert.deepEqual(
    [...faults.keys()].filter((name) => Object.keys(gateways[name]?.caught ?? {}).length === 0),
    [],
    'run npm run selftest -- must-fail NAME… --update',
  )
  const survived = Object.entries<any>(gateways).filter(([, each]) => Object.keys(each.survived).length > 0)
  assert.deepEqual(survived, [], 'a fault survived')
})

test('a fault that is not caught is called a survivor (SUITE-04)', async () => {
  const { caught, survived } = await tryFault('any-host', { caughtBy: ['KEEP-06', 'CAT-03'] })
  assert.match(caught.get('KEEP-06/foreign-is-refused')!, /Host evil\.example: expected 403, seen 200/)
  assert.deepEqual([...survived.keys()], ['CAT-03'])
  const other = await tryFault('any-host', { caughtBy: ['KEEP-06/none-reaches-a-provider'] })
  assert.deepEqual([...other.survived.keys()], [])
})
