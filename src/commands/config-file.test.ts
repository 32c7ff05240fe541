// Tests the warnings of `waybill config check`.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../test/test-cli.ts'

test('`config check` warns about each key with a budget per session only, and about no other key', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-config-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'waybill.yaml')
  const key = (name: string, n: number, budget: string) =>
    `  - { name: ${name}, role: client, digest: "sha256:${String(n).repeat(64)}"${budget} }\n`
  writeFileSync(
    file,
    `providers:\n  alpha: { dialect: chat, base_url: "http://127.0.0.1:9/v1" }\nkeys:\n${[
      key('session-only', 1, ', budget: [ { usd: 1, per: session } ]'),
      key('session-and-day', 2, ', budget: [ { usd: 1, per: session }, { usd: 9, per: day } ]'),
      key('day-only', 3, ', budget: [ { usd: 9, per: day } ]'),
      key('unlimited', 4, ''),
    ].join('')}`,
  )
  const { code, stderr } = await runCli(['config', 'check', '-c', file])
  assert.equal(code, 0, stderr)
  const warned = [...stderr.matchAll(/the key (\S+) has a budget per session only/g)].map(([, name]) => name)
  assert.deepEqual(warned, ['session-only'], stderr)
})
