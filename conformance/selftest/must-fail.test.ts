// Tests that every check has a must-fail gateway, and that every must-fail gateway has a check and a result
// (SUITE-04). `npm run selftest -- must-fail` runs these gateways.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checks } from '../checks/registry.ts'
import { withoutDialect } from '../checks/requirements.ts'
import { mustFail, mustPass } from './registry.ts'
import { requirementOf, tryMustFail } from './run.ts'

test('every check has a must-fail gateway, and every must-fail gateway has a check (SUITE-04)', () => {
  assert.ok(mustFail.size >= 60, `${mustFail.size} gateways`)
  const meant = new Set<string>()
  for (const [name, { what, caughtBy }] of mustFail) {
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
    'these checks have no must-fail gateway',
  )
})

test('no must-fail gateway has the name of a must-pass gateway', () => {
  assert.deepEqual(
    [...mustFail.keys()].filter((name) => mustPass.has(name)),
    [],
  )
})

test('every must-fail gateway has a result, and all were caught (SUITE-04)', () => {
  const { gateways } = JSON.parse(
    readFileSync(new URL('../../docs/selftest/must-fail.json', import.meta.url), 'utf8'),
  )
  assert.deepEqual(
    [...mustFail.keys()].filter((name) => Object.keys(gateways[name]?.caught ?? {}).length === 0),
    [],
    'run npm run selftest -- must-fail NAME… --update',
  )
  const survived = Object.entries<any>(gateways).filter(([, each]) => Object.keys(each.survived).length > 0)
  assert.deepEqual(survived, [], 'a must-fail gateway survived')
})

test('every must-pass gateway has a result, and all passed (SUITE-04)', () => {
  const { gateways } = JSON.parse(
    readFileSync(new URL('../../docs/selftest/must-pass.json', import.meta.url), 'utf8'),
  )
  assert.deepEqual(
    [...mustPass.keys()].filter((name) => !(gateways[name]?.passed > 0)),
    [],
    'run npm run selftest -- must-pass NAME… --update',
  )
  const failed = Object.entries<any>(gateways).filter(([, each]) => Object.keys(each.failed).length > 0)
  assert.deepEqual(failed, [], 'a must-pass gateway failed')
})

test('a must-fail gateway that is not caught is reported as a survivor (SUITE-04)', async () => {
  const { caught, survived } = await tryMustFail('any-host', { caughtBy: ['KEEP-06', 'CAT-03'] })
  assert.match(caught.get('KEEP-06/foreign-is-refused')!, /Host evil\.example: expected 403, seen 200/)
  assert.deepEqual([...survived.keys()], ['CAT-03'])
  const other = await tryMustFail('any-host', { caughtBy: ['KEEP-06/none-reaches-a-provider'] })
  assert.deepEqual([...other.survived.keys()], [])
})
