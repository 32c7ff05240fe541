// Judges every submission in this repository again from its evidence, and tests which submissions are
// refused.
import assert from 'node:assert/strict'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { clock } from '../../src/shared/clock.ts'
import { packageFile } from '../../src/shared/package-root.ts'
import { runCli } from '../../src/test/test-cli.ts'
import { EVIDENCE, problemsOf, readAbout, rejudge, SUBMISSION } from './rejudge.ts'

const root = packageFile('conformance/submissions')
const folders = globSync(`*/*/${SUBMISSION}`, { cwd: root }).map((file) => join(root, file, '..'))
const today = new Date(clock.now()).toISOString().slice(0, 10)

for (const folder of folders)
  test(`the evidence confirms the verdicts that ${folder.slice(root.length + 1)} claims (SUITE-03)`, () => {
    assert.ok(readAbout(folder).reproduce.length > 0)
    assert.deepEqual(problemsOf(folder, rejudge(folder).results, today), [])
  })

/** Returns a changed copy of a submission. */
function changed(
  t: { after(end: () => void): void },
  change: (folder: string) => void,
  // A gateway's submission, because a model server's submission has no FLOW-01.
  of = '5.0/claude-code-router',
): string {
  const above = mkdtempSync(join(tmpdir(), 'waybill-submission-'))
  t.after(() => rmSync(above, { recursive: true, force: true }))
  const folder = join(above, '5.0', 'copy')
  cpSync(join(root, of), folder, { recursive: true })
  change(folder)
  return folder
}

const edit = (file: string, from: RegExp | string, to: string) => {
  const text = readFileSync(file, 'utf8')
  const next = text.replace(from, to)
  assert.notEqual(next, text, `nothing to change in ${file}`)
  writeFileSync(file, next)
}

test("a submission is refused if its evidence does not confirm a verdict, and the error names the requirement's id (SUITE-03)", async (t) => {
  const folder = changed(t, (copy) =>
    edit(join(copy, 'results.json'), /"outcome": "fail"/, '"outcome": "pass"'),
  )
  const { code, stderr } = await runCli(['judge', folder])
  assert.match(stderr, /^waybill: [A-Z]+-\d\d.*: results\.json says pass, and its evidence gives fail$/m)
  assert.equal(code, 2)
})

test('a submission may lack a verdict for a requirement that was added later, even if its evidence allows one', (t) => {
  const folder = changed(t, () => {}, '5.0/dasllama')
  const { results } = rejudge(folder)
  const later = results.verdicts.find(({ id }) => id === 'SRV-14')!
  assert.deepEqual([later.outcome, later.scored], ['pass', false])
  assert.deepEqual(problemsOf(folder, results, today), [])
})

test('a submission without evidence for one of its checks is refused', (t) => {
  const folder = changed(t, (copy) => {
    const file = join(copy, EVIDENCE)
    const lines = gunzipSync(readFileSync(file)).toString('utf8').trim().split('\n')
    writeFileSync(file, gzipSync(lines.filter((line) => !line.startsWith('{"check":"FLOW-01"')).join('\n')))
  })
  const problems = problemsOf(folder, rejudge(folder).results, today)
  assert.ok(
    problems.some((each) => /FLOW-01.*gives harness-error/.test(each)),
    problems.join('\n'),
  )
})

test('a submission is refused if its run and folder belong to different sets, or if an exception has expired or is stale', (t) => {
  const folder = changed(t, (copy) => {
    edit(join(copy, 'run.json'), /"set": "5.0"/, '"set": "4.0"')
    const entries = ['PURE-01', 'FLOW-01'].map(
      (id) => `  - { id: ${id}, reason: being worked on, expires: 2020-01-01 }\n`,
    )
    writeFileSync(
      join(copy, SUBMISSION),
      `${readFileSync(join(copy, SUBMISSION), 'utf8').replace(/^exceptions:.*\n/m, '')}exceptions:\n${entries.join('')}`,
    )
  })
  const problems = problemsOf(folder, rejudge(folder).results, today).join('\n')
  assert.match(problems, /the run is of set 4\.0, and the folder is of 5\.0/)
  assert.match(problems, /the exception for PURE-01 ended on 2020-01-01/)
})

test('a submission is refused if it lacks submission.yaml, or if its run used --only or another version (SUITE-03)', async (t) => {
  const partial = changed(t, (copy) => {
    edit(join(copy, SUBMISSION), /^version: .*$/m, 'version: 9.9.9')
    edit(join(copy, 'run.json'), /"only": null/, '"only": ["FLOW-01"]')
  })
  const problems = problemsOf(partial, rejudge(partial).results, today)
  assert.ok(
    problems.includes('submission.yaml is about version 9.9.9, and the run tested 1.0.73'),
    problems.join('\n'),
  )
  assert.ok(
    problems.includes('the run is partial: repeat it without --only and --quick'),
    problems.join('\n'),
  )
  const without = changed(t, (copy) => rmSync(join(copy, SUBMISSION)))
  const { code, stderr } = await runCli(['judge', without])
  assert.match(stderr, /submission\.yaml: no such file/)
  assert.equal(code, 2)
})

test('`waybill judge` reports that a submission with failures is accepted', async (t) => {
  const { code, stdout } = await runCli(['judge', changed(t, () => {})])
  assert.match(stdout, /^Accepted as a submission/m)
  assert.equal(code, 1)
})

test('a submission that leaves a line of the template unchanged is refused', (t) => {
  const folder = changed(t, (copy) =>
    edit(join(copy, SUBMISSION), /^contact: .*$/m, 'contact: SOMEBODY TO ASK'),
  )
  assert.match(
    problemsOf(folder, rejudge(folder).results, today).join(),
    /submission\.yaml: contact is not filled in/,
  )
})

test('a submission that names a branch instead of a released version is refused', (t) => {
  const folder = changed(t, (copy) => edit(join(copy, SUBMISSION), /^version: .*$/m, 'version: main'))
  assert.throws(() => readAbout(folder), /submission\.yaml: version: expected a released version/)
})

test('evidence whose ledger has markup instead of numbers and known words is refused', (t) => {
  for (const [from, to] of [
    ['"credential":"match"', '"credential":"<script>"'],
    ['"kind":"inference"', '"kind":"<script>"'],
    [/"bytes":\d+/, '"bytes":"<script>"'],
  ] as const) {
    const folder = changed(t, (copy) => {
      const file = join(copy, EVIDENCE)
      const text = gunzipSync(readFileSync(file)).toString('utf8')
      assert.match(text, typeof from === 'string' ? new RegExp(from) : from)
      writeFileSync(file, gzipSync(text.replace(from, to)))
    })
    assert.throws(() => rejudge(folder), /evidence\.jsonl\.gz: line \d+: /)
  }
})

test('judging follows no link in a submission, and its errors quote no content of a file', (t) => {
  const SECRET = 'TOPSECRETVALUE'
  const outside = join(mkdtempSync(join(tmpdir(), 'waybill-outside-')), 'secret')
  t.after(() => rmSync(join(outside, '..'), { recursive: true, force: true }))
  mkdirSync(outside)
  const read = (folder: string) => problemsOf(folder, rejudge(folder).results, today)
  const secret = join(outside, 'run.json')
  writeFileSync(secret, SECRET)
  for (const file of ['run.json', 'results.json', SUBMISSION, EVIDENCE]) {
    const linked = changed(t, (copy) => {
      rmSync(join(copy, file))
      symlinkSync(secret, join(copy, file))
    })
    assert.throws(() => read(linked), new RegExp(`${file}: is a link`))
    const own = changed(t, (copy) =>
      writeFileSync(join(copy, file), file === EVIDENCE ? gzipSync(SECRET) : SECRET),
    )
    assert.throws(
      () => read(own),
      ({ name, message }: Error) => /^(Evidence|Submission)Error$/.test(name) && !message.includes(SECRET),
    )
  }
  // A report that is no submission: its evidence is a folder.
  for (const link of [true, false]) {
    const report = changed(t, (copy) => {
      rmSync(join(copy, EVIDENCE))
      rmSync(join(copy, SUBMISSION))
      if (link) symlinkSync(outside, join(copy, 'evidence'))
      else {
        mkdirSync(join(copy, 'evidence'))
        symlinkSync(secret, join(copy, 'evidence', 'run.json'))
      }
    })
    assert.throws(() => rejudge(report), /evidence.run\.json: is a link, or below one/)
  }
})

test('evidence with a file larger than 64 MiB is refused', (t) => {
  const report = changed(t, (copy) => {
    rmSync(join(copy, EVIDENCE))
    rmSync(join(copy, SUBMISSION))
    mkdirSync(join(copy, 'evidence'))
    writeFileSync(join(copy, 'evidence', 'A.json'), '')
    truncateSync(join(copy, 'evidence', 'A.json'), 2 ** 27)
  })
  assert.throws(() => rejudge(report), /A\.json: is too large: at most 64 MiB are read/)
})
