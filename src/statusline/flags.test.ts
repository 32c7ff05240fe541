// Messages of the status line about unknown options. The messages contain the option's name, but never a text
// that may be a key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlags } from './flags.ts'

for (const [args, problem] of [
  [['--colour'], 'unknown option ignored: --colour'],
  [['--token=wb_secret'], 'unknown option ignored: --token'],
  [['wb_secret'], 'unknown argument ignored'],
  [['--wb_SECRET\u001b[31m'], 'unknown argument ignored'],
] as const)
  test(`the options ${JSON.stringify(args)} cause the message: ${problem}`, () => {
    assert.deepEqual(readFlags(args).problems, [problem])
  })
