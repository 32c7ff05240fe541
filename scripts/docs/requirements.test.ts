// Tests the table of requirements: the tests that count for a requirement, and the reported problems.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirementsIn, tableOf, testNamesIn } from './requirements.ts'

test('requirements are read from table rows, and tests from the titles after `test(`', () => {
  const contract =
    '| id | level | sentence |\n|---|---|---|\n| LIFE-01 | MUST | It lives. |\n| REC-01 | MUST | Other. |\nLIFE-02 is no row.'
  assert.deepEqual(requirementsIn(contract), [
    { id: 'LIFE-01', sentence: 'It lives.' },
    { id: 'REC-01', sentence: 'Other.' },
  ])
  assert.deepEqual(testNamesIn("test('one (LIFE-01)', () => {})\n  test(`two`, …)\nlatest('three')"), [
    'one (LIFE-01)',
    'two',
  ])
})

test('requirements without a test, closed gaps and unknown ids are reported as problems', () => {
  const requirements = ['LIFE-01', 'LIFE-02', 'LIFE-03'].map((id) => ({ id, sentence: 'Says so.' }))
  const tests = [{ file: 'a.test.ts', name: 'it lives (LIFE-01, LIFE-09)' }]
  const { page, problems } = tableOf(requirements, tests, { 'LIFE-01': 'old', 'LIFE-03': 'needs a machine' })
  assert.equal(problems.length, 3)
  assert.match(problems[0]!, /^LIFE-01 has a test/)
  assert.match(problems[1]!, /^LIFE-02 is named by no test/)
  assert.match(problems[2]!, /LIFE-09, which the contract does not have/)
  assert.match(page, /\| LIFE-01 \| Says so\. \| `a\.test\.ts`: it lives \|/)
  assert.match(page, /\| LIFE-03 \| Says so\. \| none yet: needs a machine \|/)
})
