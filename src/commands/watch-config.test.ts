// The watch on the configuration file: files replaced by editors, links, and a file that was mounted
// separately.

import assert from 'node:assert/strict'
import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../test/test-gateway.ts'
import { pause, until } from '../test/test-until.ts'
import { stateOf, watchConfig } from './serve.ts'

test("a configuration that was replaced outside this process's view is reported once", {
  skip: process.platform !== 'linux' && 'only Linux shows an open file below /proc',
}, async (t) => {
  // Simulates a container's view of a file that was mounted separately. The path still leads to the old file,
  // which no longer has a name.
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(file, 'a: 1\n')
  const descriptor = openSync(file, 'r')
  t.after(() => closeSync(descriptor))
  let changed = 0
  const told: string[] = []
  const stop = watchConfig(`/proc/self/fd/${descriptor}`, () => changed++, {
    look: 20,
    settle: 10,
    lost: (message: string) => told.push(message),
  })
  t.after(stop)
  await pause(60)
  writeFileSync(`${file}.new`, 'a: 2\n')
  renameSync(`${file}.new`, file)
  await until('the replaced file is reported', () => told.length > 0)
  await pause(100)
  assert.deepEqual(told, [
    `/proc/self/fd/${descriptor} was replaced, but this process still sees the old file: mount its directory instead of the file, and start again`,
  ])
  assert.equal(changed, 0)
})

test('a change made after the configuration was read and before the first check is applied (LIFE-07)', async (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(file, 'a: 1\n')
  const since = stateOf(file)
  writeFileSync(file, 'a: 1\nb: 2\n')
  let changed = 0
  t.after(watchConfig(file, () => changed++, { since, look: 20, settle: 10 }))
  await until('the change is seen', () => changed > 0)
  await pause(100)
  assert.equal(changed, 1)
})
