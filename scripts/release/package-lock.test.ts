// Tests the lock file as every npm of a supported Node reads it.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
const entries = Object.entries<{ gypfile?: boolean; resolved?: string }>(read('package-lock.json').packages)

test('an install compiles no code, because the lock file has `gypfile: false` for packages with binaries', () => {
  const prebuilt = entries.filter(
    ([place]) =>
      existsSync(join(root, place, 'binding.gyp')) && read(`${place}/package.json`).gypfile === false,
  )
  assert.ok(prebuilt.length > 0, 'better-sqlite3 is one')
  for (const [place, { gypfile }] of prebuilt)
    assert.equal(
      gypfile,
      false,
      `npm 10 compiles ${place} unless package-lock.json has "gypfile": false there; \`npm install\` removes it, so add it again`,
    )
})

test('the lock file does not contain the address of a registry', () => {
  assert.deepEqual(
    entries.filter(([, { resolved }]) => /^https?:/.test(resolved ?? '')),
    [],
  )
})
