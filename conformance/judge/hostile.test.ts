// Tests that texts from a gateway stay plain text in terminals, CI jobs, comments and browsers, whatever they
// contain.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { bareTarget } from '../target/read.ts'
import { html } from './html.ts'
import type { Results, RunFile, Verdict } from './judge.ts'
import type { KeptRun } from './rejudge.ts'
import { resultsTable } from './text.ts'
import { comment, junit, markdown, writeReports } from './write.ts'

const STEERING = [
  '\u001b[31m',
  '\u0007',
  '\u009b2J',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u0000',
  '\r',
  '\u2028',
  '\ufffe',
  '\ud800',
]

const verdict = (reason: string): Verdict => ({
  id: 'FAIL-01',
  slug: 'errors-have-a-shape',
  level: 'MUST',
  scope: 'every gateway',
  text: 'Errors have a shape.',
  outcome: 'fail',
  scored: true,
  reason,
  findings: [{ id: 'FAIL-01/error-body', ok: false, what: reason, expected: reason, actual: reason }],
  inferences: 0,
  duration: 1,
})

/** Returns results in which every value that a gateway or its target file can choose is `text`. */
const results = (text: string): Results => ({
  causes: [{ what: text, verdicts: ['ROUTE-02'] }],
  suite: '1.0',
  profile: 'core',
  target: { name: text, version: text, sealed: false },
  started_at: '2026-11-22T00:00:00.000Z',
  duration: 1,
  conclusion: 'not conformant',
  reason: text,
  counts: { pass: 0, fail: 1, warn: 0, 'not-applicable': 0, untestable: 0, 'harness-error': 0, disabled: 0 },
  inferences: { total: 0, accounted: 0 },
  verdicts: [verdict(text), { ...verdict(text), id: 'ROUTE-03', outcome: 'not-applicable' }],
  environment: {},
  set: '5.0',
  live: null,
  reproduce: `waybill conform ${text}`,
})

const kept = (each: Results): KeptRun => ({
  results: each,
  run: { target: bareTarget('http://127.0.0.1:1', 'm', {}) } as RunFile,
  evidence: new Map(),
})

const REPORTS: readonly [name: string, write: (results: Results) => string][] = [
  ['a wide terminal', (each) => resultsTable(each, { color: false, columns: 200 })],
  ['a narrow terminal', (each) => resultsTable(each, { color: false, columns: 24 })],
  ['Markdown', (each) => markdown(kept(each))],
  ['a comment', (each) => comment(kept(each))],
  ['JUnit', junit],
  ['the page', (each) => html(kept(each)).replace(/<style>.*?<\/style>/s, '')],
]

for (const [name, write] of REPORTS) {
  test(`hostile text in ${name} cannot output control codes or reverse the text direction`, () => {
    for (const character of STEERING) {
      const text = write(results(`before${character}after`))
      assert.equal(text.replace(/\n/g, '').match(/[\p{C}\p{Zl}\p{Zp}]/u), null, JSON.stringify(text))
    }
  })

  test(`no line in ${name} is a command for a CI server`, () => {
    for (const command of [
      '::warning::x',
      '::error file=a,line=1::x',
      '::add-mask::a',
      '##[error]x',
      '##vso[task.x]y',
    ])
      for (const lead of ['', '\n', ' ', '\r', 'word '.repeat(30)]) {
        const lines = write(results(`${lead}${command} ${'word '.repeat(9)}`)).split(/[\n\r\u2028]/)
        for (const line of lines) assert.doesNotMatch(line, /::[a-z-]+( [^:]*)?::|##\[|##vso/, line)
      }
  })
}

test('text from a gateway cannot add a link, image, mention, heading, code, table cell or markup to Markdown', () => {
  const hostile =
    '[x](http://evil.example) ![y](z) <b> @user #1 http://evil.example `code` **b** ~~s~~ a\\|b | c &lt; \\'
  for (const line of markdown(kept(results(hostile))).split('\n')) {
    const text = line.replace(/^(## |\| |> |- )/, '').replace(/`[^`]*`/g, '')
    assert.doesNotMatch(text, /\]\(|!\[|<b>|@user|#1\b|http:\/\/|~~|\*\*b/, line)
    assert.doesNotMatch(text, /\\[|]|&lt;/, line)
  }
})

test('no file of a report has a control code or reverses the text direction, and JSON keeps every character', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-hostile-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const hostile = `a${STEERING.join('b')}]]>c`
  writeReports(directory, kept(results(hostile)))
  for (const name of readdirSync(directory)) {
    const text = readFileSync(join(directory, name), 'utf8')
    assert.equal(text.replaceAll('\n', '').match(/[\p{C}\p{Zl}\p{Zp}]/u), null, name)
  }
  assert.equal(JSON.parse(readFileSync(join(directory, 'results.json'), 'utf8')).reason, hostile)
  assert.doesNotMatch(readFileSync(join(directory, 'junit.xml'), 'utf8'), /\]\]>/)
})
