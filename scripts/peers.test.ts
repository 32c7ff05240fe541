// What `npm run peers` takes away after a run: its own directories, and nothing else of the place it was given.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./peers.ts', import.meta.url))

test('what else lies in the scratch directory stays', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-peers-test-'))
  t.after(() => rmSync(scratch, { recursive: true }))
  for (const directory of ['mine', 'reports/mine', 'bin'])
    mkdirSync(join(scratch, directory), { recursive: true })
  writeFileSync(join(scratch, 'mine.txt'), 'mine')
  // A shell and nothing that installs: the run ends before anything is fetched.
  const shell = spawnSync('sh', ['-c', 'command -v sh'], { encoding: 'utf8' }).stdout.trim()
  symlinkSync(shell, join(scratch, 'bin/sh'))
  const { status, stderr } = spawnSync(process.execPath, [script, '--dir', scratch, 'portkey'], {
    env: { PATH: join(scratch, 'bin') },
    encoding: 'utf8',
  })
  assert.match(stderr, /peers: portkey cannot be installed/)
  assert.equal(status, 3)
  assert.deepEqual(readdirSync(scratch).sort(), ['bin', 'mine', 'mine.txt', 'reports'])
  assert.deepEqual(readdirSync(join(scratch, 'reports')), ['mine'])
})
