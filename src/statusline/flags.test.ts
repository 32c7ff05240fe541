// What the status line says of options that it does not know: their name, and never what may be a key.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlags } from './flags.ts'

for (const [args, problem] of [
  [['--colour'], 'unknown option ignored: --colour'],
  [['--token=wb_secret'], 'unknown option ignored: --token'],
  [['wb_secret'], 'unknown argument ignored'],
  [['--wb_SECRET\u001b[31m'], 'unknown argument ignored'],
] as const)
  test(`${JSON.stringify(args)}: ${problem}`, () => {
    assert.deepEqual(readFlags(args).problems, [problem])
  })
