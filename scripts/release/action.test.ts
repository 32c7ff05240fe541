// Tests the GitHub Action's own shell step as a workflow runs it, with inputs of any kind. Does not need
// GitHub.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly id?: string
  readonly run?: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(root, 'action.yml'), 'utf8')
const steps: readonly Step[] = parse(text).runs.steps
const conform = steps.find(({ id }) => id === 'conform')!.run!

/** Runs the step that runs the suite. Resolves with its exit code, its output and its summary. */
function run(t: TestContext, target: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'waybill-action-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const output = join(cwd, 'output')
  writeFileSync(output, '')
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--noprofile', '--norc', '-eo', 'pipefail', '-c', conform],
    {
      cwd,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        GITHUB_ACTION_PATH: root,
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: join(cwd, 'summary'),
        TARGET: target,
        PROFILE: 'core',
        BASELINE: '',
        REPORT: 'report',
        npm_config_offline: 'true', // the step does not fetch packages by a name that another project may own
      },
    },
  )
  return { status, said: stdout + stderr, output: readFileSync(output, 'utf8') }
}

for (const target of ['--help', '--version', '-c', '--report=/tmp/elsewhere', 'nowhere.yaml', '$(echo x)'])
  test(`the target ${target} is treated as a file and never as an option`, (t) => {
    const { status, said, output } = run(t, target)
    assert.equal(status, 2, said)
    assert.ok(said.startsWith(`waybill: ${target}: `), said)
    assert.equal(output, 'conclusion=error\n')
  })

for (const file of ['action.yml', '.github/workflows/release.yml'])
  test(`${file} pins each action and image by digest, with the version in a comment`, () => {
    const used = readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /\buses:/.test(line))
    assert.ok(used.length > 0)
    for (const line of used) assert.match(line, /uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

test('documents do not run the program by a package name that this project does not own yet', () => {
  const files = spawnSync('git', ['ls-files', '*.md', '*.yml', '*.yaml'], { cwd: root, encoding: 'utf8' })
  const told = files.stdout
    .trim()
    .split('\n')
    .filter((file) => !/^(CHANGELOG|DECISIONS|CONTRIBUTING)\.md$/.test(file)) // these describe a release
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .map((line, n) => ({ line, at: `${file}:${n + 1}` })),
    )
  assert.ok(told.length > 1_000)
  const wrong = told.filter(({ line }) => /npx .*\bwaybill\b|npm (i|install) (-\S+ )*waybill\b/.test(line))
  assert.deepEqual(wrong, [])
})
