// Tests that every published failure has been reviewed, and that its evidence exists and is small.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Evidence, Exchange } from '../../conformance/evidence/evidence.ts'
import {
  NOTED as bad,
  keepOutcome,
  readNotes,
  readOutcomes,
  scoreboardPage,
  withoutPath,
} from './scoreboard.ts'
import { proofOf, proofsFile, provenNames, readProofs } from './scoreboard-evidence.ts'
import { type ComparedVersions, readCompared, readProjects, versionsPage } from './versions.ts'

const outcomes = readOutcomes()
const notes = readNotes()

const EXCHANGE: Exchange = {
  ...{
    n: 1,
    step: 'call',
    details: {},
    nonce: null,
    at: 0,
    head_at: 1,
    end_at: 2,
    end: 'complete',
    error: null,
  },
  ...{ status: 500, headers: {}, body: '', utf8: true, chunks: [] },
  request: { method: 'POST', path: '/v1/chat/completions', headers: {}, body: '[]' },
}
const BLANK: Omit<Evidence, 'check' | 'exchanges'> = {
  ...{ started_at: 0, ended_at: 1, ledger: [], marks: {}, facts: {}, untestable: null, harness_error: null },
}

test('a run that ends before its first check is stored only if the gateway has no result yet', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-board-'))
  t.after(() => rmSync(scratch, { recursive: true }))
  const file = join(scratch, 'litellm.json')
  const failed = (trouble: string) => keepOutcome('litellm', { reports: scratch, trouble, scratch }, file)
  const stored = () => JSON.parse(readFileSync(file, 'utf8'))
  for (const trouble of ['no port\n  at x', 'no key']) assert.equal(failed(trouble), true)
  assert.deepEqual([stored().results, stored().trouble], [null, 'no key'])
  const good = JSON.stringify(outcomes.find(({ name }) => name === 'litellm'))
  writeFileSync(file, good)
  assert.equal(failed('no port'), false)
  assert.equal(readFileSync(file, 'utf8'), good)
})

test('every published failure has a note, and every note belongs to a failure', () => {
  assert.ok(outcomes.length >= 5)
  for (const { name, verdicts, profiles = {} } of outcomes) {
    const ofClients = Object.values(profiles).flatMap(({ wrong }) => wrong)
    const own = verdicts.filter(({ outcome }) => bad.includes(outcome)).map(({ id }) => id)
    const ids = [...new Set([...own, ...ofClients])]
    assert.deepEqual(Object.keys(notes[name]?.looked_at ?? {}).sort(), ids.sort(), name)
  }
  assert.doesNotMatch(scoreboardPage(outcomes, notes), /not looked at yet/)
})

test('every verdict has evidence, which contains no path of the machine that ran the suite', () => {
  assert.deepEqual(
    provenNames().sort(),
    outcomes
      .filter(({ results }) => results)
      .map(({ name }) => name)
      .sort(),
  )
  for (const { name, verdicts } of outcomes) {
    const proofs = readProofs(name)
    for (const { id, outcome } of verdicts.filter((verdict) => bad.includes(verdict.outcome))) {
      assert.equal(proofs.get(id)?.outcome, outcome, `${name} ${id}`)
      assert.ok(
        proofs.get(id)!.findings.some(({ ok }) => !ok),
        `${name} ${id}`,
      )
    }
    assert.doesNotMatch(JSON.stringify([...proofs.values()]), /\/(tmp|home|root|work)\/\w/, name)
    assert.ok(statSync(proofsFile(name)).size < 112 * 1024, `the evidence of ${name} is small`)
  }
})

test('evidence contains everything that its findings refer to, even from another check, and shortens long texts', () => {
  const evidence = (check: string, body: string) => ({ ...BLANK, check, exchanges: [{ ...EXCHANGE, body }] })
  const all = new Map([
    ['FAIL-02', evidence('FAIL-02', 'x'.repeat(2_000))],
    ['FAIL-01', evidence('FAIL-01', 'other')],
  ])
  const finding = { id: 'FAIL-02/malformed-is-4xx', what: 'an answer', expected: 'a 4xx', actual: '500' }
  const findings = [
    { ...finding, ok: true, see: ['#1'] },
    { ...finding, ok: false, see: ['#1', 'FAIL-01#1', '@9'] },
  ]
  const verdict = { ...outcomes[0]!.verdicts[0]!, id: 'FAIL-02', outcome: 'fail' as const, findings }
  const proof = proofOf(
    { ...verdict, scope: 'every gateway', text: '', scored: true, inferences: 0, duration: 0 },
    { evidence: all },
  )
  const untestable = { ...verdict, outcome: 'untestable' as const, findings: [], reason: 'no answer came' }
  const untried = proofOf(
    { ...untestable, scope: 'every gateway', text: '', scored: true, inferences: 0, duration: 0 },
    { evidence: all },
  )
  assert.equal(untried.findings[0]!.what, 'no answer came')
  assert.deepEqual(Object.keys(untried.seen), ['#1'])
  assert.equal(proof.of, 1)
  assert.deepEqual(proof.findings, [findings[1]])
  assert.deepEqual(Object.keys(proof.seen), ['#1', 'FAIL-01#1'])
  assert.match((proof.seen['#1'] as { body: string }).body, /^x{800} … \(2000 characters\)$/)
})

test('the path of a run is removed from texts, even if a text ends in the middle of the path', () => {
  const text =
    '{"a":"at /tmp/peers/x.js and (/tmp/peers/y","b":"at (/tmp/pee","c":"/tmp/pe … (9 characters)","d":"/tmp"}'
  assert.equal(
    withoutPath('/tmp/peers')(text),
    '{"a":"at …/x.js and (…/y","b":"at (…","c":"… … (9 characters)","d":"/tmp"}',
  )
})

test('a failure without a note is marked as not to be quoted', () => {
  const [first] = outcomes.filter(({ verdicts }) => verdicts.some(({ outcome }) => bad.includes(outcome)))
  assert.match(scoreboardPage([first!], {}), /not looked at yet, not to be quoted/)
})

test('a difference between versions has a sentence, and counts only if a second run repeats it', () => {
  assert.doesNotMatch(versionsPage(readCompared(), readProjects()), /not looked at yet/)
  const row = (id: string, first: string[], second: string[]) => ({
    id,
    slug: id,
    level: 'MUST',
    first,
    second,
  })
  const compared: ComparedVersions = {
    ...{
      title: 'Mine',
      homepage: '',
      date: '',
      suite: '',
      environment: '',
      versions: ['1', '2'],
      troubles: {},
    },
    asked: 4,
    rows: [
      row('BROKE', ['pass', 'fail'], ['pass', 'untestable']),
      row('ONCE', ['pass', 'fail'], ['pass', 'pass']),
      row('OURS', ['pass', 'harness-error'], ['pass', 'harness-error']),
      row('ABSENT', ['pass', 'not-applicable'], ['pass', 'not-applicable']),
    ],
  }
  const page = versionsPage({ mine: compared }, { asked: [], projects: {} })
  assert.match(page, /^\| BROKE BROKE \| ✓ \| ✗ \|$/m)
  assert.match(page, /Not repeated, so not counted: ONCE, OURS, ABSENT\./)
})
