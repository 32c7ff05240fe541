// Tests a comparison of two runs with changes for the better and for the worse.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare, comparisonText } from './compare.ts'
import type { Outcome, Results, Verdict } from './judge.ts'

type Row = readonly [id: string, outcome: Outcome, ...failing: string[]]

const results = (...rows: readonly Row[]): Results =>
  ({
    started_at: '2026-11-22T00:00:00.000Z',
    conclusion: 'partial',
    verdicts: rows.map(
      ([id, outcome, ...failing]): Partial<Verdict> => ({
        id,
        outcome,
        findings: failing.map((name) => ({ id: `${id}/${name}`, ok: false, what: name })),
      }),
    ),
  }) as unknown as Results

const CASES: readonly [what: string, earlier: Row[], now: Row[], said: string][] = [
  [
    'nothing changed',
    [['FLOW-06', 'fail', 'a']],
    [['FLOW-06', 'fail', 'a']],
    'better: nothing; worse: nothing',
  ],
  [
    'a failure was fixed',
    [['FLOW-06', 'fail', 'a']],
    [['FLOW-06', 'pass']],
    'better: FLOW-06 (fail, now pass); worse: nothing',
  ],
  [
    'a check fails that passed before',
    [['FLOW-06', 'pass']],
    [['FLOW-06', 'warn', 'a']],
    'better: nothing; worse: FLOW-06 (pass, now warn)',
  ],
  [
    'a check is no longer tried',
    [['FLOW-06', 'fail', 'a']],
    [['FLOW-06', 'disabled']],
    'better: nothing; worse: nothing',
  ],
  [
    'a check is tried for the first time',
    [['FLOW-06', 'not-applicable']],
    [['FLOW-06', 'fail', 'a']],
    'better: nothing; worse: nothing',
  ],
  ['a check is new in the suite', [], [['FLOW-06', 'fail', 'a']], 'better: nothing; worse: nothing'],
  [
    'one finding was fixed and another now fails',
    [['FLOW-06', 'fail', 'a', 'b']],
    [['FLOW-06', 'fail', 'b', 'c']],
    'better: FLOW-06/a (failed, now does not fail); worse: FLOW-06/c (did not fail, now fails)',
  ],
]

for (const [what, earlier, now, said] of CASES)
  test(`a comparison of two runs lists the changes: ${what}`, () =>
    assert.equal(comparisonText(compare(results(...earlier), results(...now))), said))
