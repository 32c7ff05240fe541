// Tests the folders for other projects' CI: each is whole, and its baseline excuses exactly the failures on the board.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { compareWithBaseline, readBaseline } from '../../conformance/judge/compare.ts'
import type { Results } from '../../conformance/judge/judge.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { filesOfFolder, writeFolders } from './folder.ts'
import { isDraft, readOutcomes } from './scoreboard.ts'

const NAMES = ['claude-code-router', 'lm-proxy', 'mlflow', 'portkey', 'rosetta']

for (const name of NAMES)
  test(`the folder of ${name} has a workflow, a target file and a baseline that excuses exactly its failures`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'waybill-folder-'))
    t.after(() => rmSync(root, { recursive: true }))
    writeFolders([name], root)
    const target = readTarget(join(root, name, 'target.yaml'))
    const { verdicts, date } = readOutcomes().find((each) => each.name === name)!
    const scored = verdicts.map((each) => ({ ...each, scored: !isDraft(each.id), findings: [] }))
    const baseline = readBaseline(join(root, name, 'baseline.yaml'))
    const { failed, stale } = compareWithBaseline({ verdicts: scored } as unknown as Results, baseline, date)
    assert.deepEqual([failed, stale], [[], []])
    const { jobs } = parse(readFileSync(join(root, name, 'workflow.yml'), 'utf8'))
    const [checkout, install, suite] = jobs.conform.steps
    assert.match(checkout.uses, /^actions\/checkout@/)
    assert.match(install.run, new RegExp(`=?=?@?${target.version!.replaceAll('.', '\\.')}`))
    assert.match(install.run, /GITHUB_PATH/)
    assert.match(suite.uses, /^waybill\/waybill@/)
    assert.equal(suite.with.baseline, 'conformance/baseline.yaml')
    const needed = readFileSync(join(root, name, 'target.yaml'), 'utf8').matchAll(/\{\{env\.(\w+)\}\}/g)
    assert.deepEqual(Object.keys(suite.env ?? {}), [...new Set([...needed].map(([, variable]) => variable))])
  })

test('a gateway without packages or without a result has no folder', () => {
  for (const name of ['one-api', 'bifrost', 'coderouter'])
    assert.throws(() => filesOfFolder(name), new RegExp(`${name} has no folder`))
})
