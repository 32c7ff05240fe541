// Tests that `npm run gateways` deletes only its own directories after a run.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { installGateway, peerNames, readPeer } from './gateway.ts'

const script = fileURLToPath(new URL('./run.ts', import.meta.url))

test('a run does not delete other files in the scratch directory', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-peers-test-'))
  t.after(() => rmSync(scratch, { recursive: true }))
  for (const directory of ['mine', 'reports/mine', 'bin'])
    mkdirSync(join(scratch, directory), { recursive: true })
  writeFileSync(join(scratch, 'mine.txt'), 'mine')
  // PATH with a shell but no installer, so that the run ends before any download.
  const shell = spawnSync('sh', ['-c', 'command -v sh'], { encoding: 'utf8' }).stdout.trim()
  symlinkSync(shell, join(scratch, 'bin/sh'))
  const { status, stderr } = spawnSync(process.execPath, [script, '--dir', scratch, 'portkey'], {
    env: { PATH: join(scratch, 'bin') },
    encoding: 'utf8',
  })
  assert.match(stderr, /gateways: portkey cannot be installed/)
  assert.equal(status, 3)
  assert.deepEqual(readdirSync(scratch).sort(), ['bin', 'mine', 'mine.txt', 'reports'])
  assert.deepEqual(readdirSync(join(scratch, 'reports')), ['mine'])
})

test('a gateway is installed again only if its install lines or this project’s directory have changed', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-peers-test-'))
  t.after(() => rmSync(scratch, { recursive: true }))
  const directory = join(scratch, 'mine')
  const peer = { install: ['touch "$(date +%N)"'], bin: 'bin' }
  const runs = (each = peer) => {
    assert.ok(installGateway('mine', each, directory))
    return readdirSync(directory).sort()
  }
  const first = runs()
  assert.equal(first.length, 2)
  assert.deepEqual(runs(), first)
  assert.deepEqual(runs({ ...peer, install: ['touch other'] }), ['.installed', 'other'])
  writeFileSync(join(directory, '.installed'), '')
  assert.notDeepEqual(runs(), first)
})

test('every project file named in an install line exists', async () => {
  const lines = (await Promise.all(peerNames.map((name) => readPeer(name)))).flatMap((peer) => peer.install)
  const named = lines.flatMap((line) => [...line.matchAll(/\$PROJECT\/([\w./-]+)/g)].map(([, path]) => path))
  assert.ok(named.length > 0)
  for (const path of named)
    assert.ok(existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url))), path)
})
