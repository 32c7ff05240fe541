import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROGRAMS } from './run.ts'

const script = join(import.meta.dirname, 'run.ts')

test('every sub-name of an npm script has a program', () => {
  for (const programs of Object.values(PROGRAMS))
    for (const program of Object.values(programs))
      assert.ok(existsSync(join(import.meta.dirname, program.split(' ')[0]!)), program)
})

test('an unknown sub-name prints one line with the existing names, and ends with exit code 2', () => {
  const { status, stderr } = spawnSync(process.execPath, [script, 'selftest', 'kill-matrix'], {
    encoding: 'utf8',
  })
  assert.equal(
    stderr,
    'selftest: there is no "kill-matrix"; there are: reference, repeat, must-fail, must-pass, simulate, mutants, without\n',
  )
  assert.equal(status, 2)
})
