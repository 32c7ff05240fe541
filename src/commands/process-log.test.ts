// The process log at the end of a process: every line, in order, even while an earlier one is being written.
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

test('lines that are written as the process ends keep their order', () => {
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
