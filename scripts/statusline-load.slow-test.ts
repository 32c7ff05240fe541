// The script itself is for a thousand lines; this holds the same promises with fewer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundle } from '../src/statusline/test-statusline.ts'
import { underLoad } from './statusline-load.ts'

const SCRIPT = fileURLToPath(new URL('../src/statusline/statusline.sh', import.meta.url))

test('under chat load no line is blank, and none is paid for (LINE-04, LINE-05)', async (t) => {
  for (const command of [
    [process.execPath, await bundle(t)],
    ['/bin/sh', SCRIPT],
  ] as const) {
    const report = await underLoad(command, 30)
    assert.deepEqual([report.blank, report.failed, report.inferences - report.chats], [0, 0, 0])
    assert.ok(report.chats > 0 && report.lines >= 30)
    t.diagnostic(`${report.routed} of ${report.lines} lines told the route; slowest ${report.line.at(-1)} ms`)
  }
})
