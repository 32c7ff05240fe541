// The first example of the README runs as it stands there, but for the package's name.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'

test('the README speaks the truth', (t) => {
  const readme = readFileSync(new URL('./README.md', import.meta.url), 'utf8')
  const example = /```ts\n([\s\S]*?)```/.exec(readme)![1]!
  const directory = mkdtempSync(join(tmpdir(), 'waybill-readme-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'example.mts')
  writeFileSync(file, example.replace('waybill/mocks', new URL('./library.ts', import.meta.url).href))
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined } // a run of its own, not a part of this one
  const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', '--test', '--test-reporter=tap', file], {
    encoding: 'utf8',
    env,
  })
  assert.match(stdout, /^# pass 1$/m)
  assert.match(stdout, /^# fail 0$/m)
})
