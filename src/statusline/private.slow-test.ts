// LINE-08 and LINE-12: destinations of the key, and files left on disk.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import {
  assertSound,
  bare,
  commands,
  kept,
  patiently,
  recorded,
  run,
  session,
  surroundings,
  VARIANTS,
  WENT,
} from './test-statusline.ts'

test('the key is sent to the gateway but not stored; a key file that others may read is refused (LINE-08)', async (t) => {
  const key = 'wb-secret-0123456789'
  const digest = createHash('sha256').update(key).digest('hex')
  const keys = `keys: [ { name: ann, role: client, digest: "sha256:${digest}" } ]`
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/model-a } ] } }\n${keys}`,
  })
  const variants = await commands(t)
  await gateway.chat(ask('auto'), { 'x-session-id': 'main', authorization: `Bearer ${key}` })
  const file = join(temporaryDirectory(t), 'key')
  writeFileSync(file, `${key}\n`, { mode: 0o600 })
  for (const variant of VARIANTS) {
    const env = surroundings(t, { WAYBILL_URL: gateway.url })
    const draw = (more: Record<string, string>, ...args: string[]) =>
      run([...variants[variant], ...args], { ...env, ...more }, JSON.stringify(session('main')))
    chmodSync(file, 0o600)
    for (const told of [
      () => draw({ WAYBILL_KEY: key }),
      () => draw({ WAYBILL_KEY_FILE: file }),
      () => draw({}, '--key-file', file),
    ]) {
      const ran = await patiently(
        told,
        ({ stdout, stderr }) => stderr === '' && WENT.test(bare(stdout).trimEnd()),
      )
      assert.match(bare(ran.stdout).trimEnd(), WENT, ran.stderr)
      assert.equal(ran.stderr, '')
    }
    await kept(env)
    assert.doesNotMatch(readAll(env.XDG_CACHE_HOME!), /wb-secret/)
    chmodSync(file, 0o644)
    const refused = await patiently(
      () => draw({ XDG_CACHE_HOME: temporaryDirectory(t) }, '--key-file', file),
      ({ stdout }) => /^Auto/.test(bare(stdout)),
    )
    assertSound(refused)
    assert.match(refused.stderr, /is open to others; run chmod 600/)
    assert.match(bare(refused.stdout), /^Auto/)
    const broken = await draw({ WAYBILL_KEY: 'two words\r\nx: y' })
    assert.match(broken.stderr, /key/)
    assert.doesNotMatch(broken.stdout + broken.stderr, /two words/)
  }
})

test('the cache file is private, and complete even if the process is killed at any moment (LINE-12)', async (t) => {
  const gateway = await testGateway(t)
  const variants = await commands(t)
  for (const variant of VARIANTS) {
    const env = surroundings(t, { WAYBILL_URL: gateway.url })
    for (let ms = 0; ms < 60; ms += IS_FULL ? 3 : 15) {
      await recorded(gateway, 'auto', { 'x-session-id': 'main' }) // so that there is a new line to cache
      const drawn = drawOnce(variants[variant], env)
      await sleep(ms)
      if (drawn.child.exitCode === null) process.kill(-drawn.child.pid!, 'SIGKILL')
      await drawn.settled
    }
    const directory = join(env.XDG_CACHE_HOME!, 'waybill', 'statusline')
    await until('a line is cached, although the gateway may answer too late for some', async () => {
      await drawOnce(variants[variant], env).settled
      return existsSync(directory) && readdirSync(directory).some((name) => !name.endsWith('.part'))
    })
    assert.equal(statSync(directory).mode & 0o777, 0o700)
    const files = readdirSync(directory).filter((name) => !name.endsWith('.part'))
    assert.equal(files.length, 1)
    assert.equal(statSync(join(directory, files[0]!)).mode & 0o777, 0o600)
    const text = readFileSync(join(directory, files[0]!), 'utf8')
    if (variant === 'program') JSON.parse(text)
    else assert.match(text, /^.+\n\d+ \d+\n.+\n$/)
    assert.doesNotMatch(text, /where to\?/)

    chmodSync(directory, 0o755)
    const before = text
    await recorded(gateway, 'auto', { 'x-session-id': 'main' })
    assertSound(await run(variants[variant], env, JSON.stringify(session('main'))))
    await drawOnce(variants[variant], env).settled
    assert.equal(readFileSync(join(directory, files[0]!), 'utf8'), before, 'others could read it: not used')
  }
})

/**
 * Starts the program once, in a separate process group. `settled` also waits for its remaining processes: the
 * script caches its line after it has exited, and a process with descriptor 4 open has not ended. The script
 * itself uses descriptor 3.
 */
function drawOnce([file, ...args]: readonly [string, ...string[]], env: Record<string, string>) {
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH!, ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'pipe'],
  })
  for (const output of [child.stdout, child.stderr, child.stdio[4] as Readable]) output!.resume()
  child.stdin!.on('error', () => {}).end(JSON.stringify(session('main')))
  return { child, settled: once(child, 'close') }
}

const readAll = (directory: string): string =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
