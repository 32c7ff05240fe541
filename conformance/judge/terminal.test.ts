import assert from 'node:assert/strict'
import test from 'node:test'
import type { Results, Verdict } from './judge.ts'
import { resultsTable } from './text.ts'

test('requirements that do not apply for the same reason are listed on one line', () => {
  const inapplicable = (id: string, reason: string): Verdict => ({
    ...{ id, slug: 'slug', level: 'MUST', scope: 'model servers', text: 'Text.', scored: true },
    ...{ outcome: 'not-applicable', reason, findings: [], inferences: 0, duration: 0 },
  })
  const results: Results = {
    ...{ suite: '5.0', set: '5.0', profile: 'server', conclusion: 'conformant', reason: 'all hold' },
    ...{ target: { name: 'a server', version: null, sealed: false }, live: null, environment: {} },
    ...{ started_at: '2026-11-26T00:00:00.000Z', duration: 1, reproduce: 'waybill conform', causes: [] },
    counts: {
      pass: 0,
      fail: 0,
      warn: 0,
      'not-applicable': 3,
      untestable: 0,
      'harness-error': 0,
      disabled: 0,
    },
    inferences: { total: 0, accounted: 0 },
    verdicts: [
      inapplicable('SRV-07', 'the server refuses a forced tool: 422'),
      inapplicable('SRV-10', 'the target file does not declare window'),
      inapplicable('SRV-11', 'the target file does not declare embeddings'),
    ],
  }
  assert.match(
    resultsTable(results, { color: false, columns: 100 }),
    /– not applicable: SRV-07\n {4}the server refuses a forced tool: 422\n– not applicable: SRV-10 SRV-11\n {4}the target file does not declare what they need\n/,
  )
})
