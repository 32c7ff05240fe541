// Checks every case of `test-loss-cases.ts` against the translation. Each loss has a case, and each pair of
// dialects has a plain call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOSSES } from '../core/losses.ts'
import { DIALECTS } from './registry.ts'
import { LOSS_CASES, PLAIN_REQUESTS } from './test-loss-cases.ts'
import type { LossCase } from './test-sample-type.ts'
import { isTranslatable, translating } from './translate.ts'

const dialects: Record<string, unknown> = DIALECTS
const dialectOf = (name: string) => {
  const dialect = dialects[name] as (typeof DIALECTS)['chat']
  assert.ok(isTranslatable(dialect), `${name} has no blocks`)
  return dialect
}

function lossesOf({ from, to, request = {}, answer, forwarded = [] }: LossCase): readonly string[] {
  const translation = translating(dialectOf(from), dialectOf(to), {
    family: 'own',
    host: 'localhost',
    factsOf: () => ({}),
  }).translation!()
  const text = JSON.stringify({ ...PLAIN_REQUESTS[from], ...request })
  translation.request({ model: 'm', stream: false, text, wantsUsage: true, forwarded, query: '' }, 'm', {
    basePath: '',
    key: null,
  })
  if (answer) translation.readAnswer(JSON.stringify(answer))
  return translation.losses
}

for (const pair of new Set(LOSS_CASES.map(({ from, to }) => `${from} at ${to}`)))
  test(`${pair}: exactly the lost values are reported (DIAL-04)`, () => {
    for (const each of LOSS_CASES.filter(({ from, to }) => pair === `${from} at ${to}`))
      assert.deepEqual(lossesOf(each), each.loses, JSON.stringify(each.request ?? each.answer))
  })

test('every kind of loss has a test case', () => {
  const shown = new Set(LOSS_CASES.flatMap(({ loses }) => loses))
  assert.deepEqual(
    Object.keys(LOSSES).filter((word) => !(shown as Set<string>).has(word)),
    [],
  )
})
