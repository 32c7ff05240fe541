// The suite binds everybody only to what is written, not to how the reference happens to do it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { targetOf } from './mutant-run.ts'
import { conform } from './run.ts'
import { PROVIDER } from './targets/other-ways.ts'

test('a gateway that does it rightly in another way passes what binds everybody', async () => {
  const target = targetOf('other-ways', { what: '', kills: [], start: () => Promise.reject() })
  const { results } = await conform({
    target: {
      ...target,
      start: { inproc: 'targets/other-ways' },
      providers: { ...target.providers, openai: { aliases: [PROVIDER] } },
    },
    profile: 'observable',
    only: [
      ...['ROUTE-01', 'ROUTE-02', 'ROUTE-05', 'ROUTE-08', 'TELL-01', 'TELL-05', 'LOG-02', 'USE-01', 'USE-02'],
      ...['FLOW-01', 'FLOW-02', 'FLOW-03', 'FLOW-06', 'FLOW-07', 'FLOW-08', 'FLOW-09', 'CAT-01', 'CAT-03'],
    ],
  })
  const bad = results.verdicts.filter(({ outcome }) => outcome !== 'pass' && outcome !== 'disabled')
  assert.deepEqual(
    bad.map(({ id, outcome, reason }) => `${id} ${outcome}: ${reason}`),
    [],
  )
})
