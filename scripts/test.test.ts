import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { groupsOf, needsOwnProcess } from './test.ts'

test('every file is in one group, neighbours together, and a file that needs a process has one', () => {
  const files = Array.from({ length: 30 }, (_, n) => `src/${n}.test.ts`)
  const groups = groupsOf(files, 12, (file) => file === 'src/7.test.ts')
  assert.deepEqual(groups.flat().toSorted(), files.toSorted())
  assert.deepEqual(
    groups.map(({ length }) => length),
    [1, 10, 9, 10],
  )
  assert.deepEqual(groups[0], ['src/7.test.ts'])
  assert.deepEqual(groups[1]!.slice(0, 2), ['src/0.test.ts', 'src/1.test.ts'])
})

for (const [text, expected] of [
  ['// About it.\n// In a process of its own, because it measures the heap.\n', true],
  ['beforeEach(() => mock.clear())\n', true],
  ['after(async () => {\n', true],
  ["test('x', (t) => {\n  t.after(stop)\n  after(stop)\n})\n", false],
] as const)
  test(`${JSON.stringify(text)} ${expected ? 'needs' : 'does not need'} a process of its own`, () =>
    assert.equal(needsOwnProcess(text), expected))

for (const [body, status, said] of [
  ["import { test } from 'node:test'\ntest('good', () => {})\n", 0, 'ℹ pass 2'],
  ["import { test } from 'node:test'\ntest('bad', () => { throw new Error('no') })\n", 1, 'ℹ fail 1'],
  ["throw new Error('on import')\n", 1, 'on import'],
] as const)
  test(`a run whose second file says ${JSON.stringify(body)} ends with ${status}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'waybill-'))
    t.after(() => rmSync(root, { recursive: true }))
    mkdirSync(join(root, 'src'))
    writeFileSync(join(root, 'src/a.test.ts'), "import { test } from 'node:test'\ntest('first', () => {})\n")
    writeFileSync(join(root, 'src/b.test.ts'), body)
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const done = spawnSync(process.execPath, [join(import.meta.dirname, 'test.ts'), 'quick'], {
      ...{ cwd: root, env, encoding: 'utf8' },
    })
    assert.equal(done.status, status, done.stdout + done.stderr)
    assert.match(done.stdout, new RegExp(said))
  })

test('a text that no file has in its path gets one line, and exit code 2', () => {
  const script = join(import.meta.dirname, 'test.ts')
  const { status, stderr } = spawnSync(process.execPath, [script, 'quick', 'nowhere'], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [2, 'no test file: nowhere\n'])
})
