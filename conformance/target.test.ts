// What a person sees whose target file still has the names of an earlier version.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTarget } from './target.ts'

test('a field that has a new name is an error that says the new name', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-target-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [old, now] of [
    ['tells', 'observability'],
    ['has', 'capabilities'],
  ]) {
    const file = join(directory, `${old}.yaml`)
    writeFileSync(file, `name: x\nstart: { url: http://127.0.0.1:1 }\n${old}: {}\n`)
    assert.throws(() => readTarget(file), {
      name: 'TargetError',
      message: `${file}: \`${old}\` is now called \`${now}\``,
    })
  }
})
