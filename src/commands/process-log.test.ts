// The process log at the end of a process. Every line is printed in order, even during the write of an
// earlier line.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'

const program = `
import { openLog } from ${JSON.stringify(new URL('process-log.ts', import.meta.url).href)}
const { log, close } = await openLog('info', { pretty: false, colour: false })
log.info({}, 'first')
setTimeout(async () => {
  log.info({}, 'second')
  await close()
}, 50)`

test('lines written while the process ends stay in order', () => {
  for (let run = 0; run < 10; run++) {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    assert.equal(stderr, '')
    const messages = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg)
    assert.deepEqual(messages, ['first', 'second'])
  }
})
