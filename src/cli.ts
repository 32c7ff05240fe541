#!/usr/bin/env node
// argv -> a command, loaded only when it is asked for. The one file that ends the process.
// Exit codes: 0 done, 1 it failed (an old Node too), 2 the call or the configuration is wrong.

import { holdYoungGeneration } from './commands/young-generation.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 22)) {
  // Before anything native is loaded: better-sqlite3 does not fail on an old Node, it crashes.
  process.stderr.write(`waybill: Node ${process.versions.node} is too old; use Node 22.22 or newer.\n`)
  process.exit(1)
}

if (process.argv[2] === 'serve') holdYoungGeneration() // before anything is loaded
const [{ run }, { endWithNpm }] = await Promise.all([
  import('./commands/run.ts'),
  import('./commands/end-with-npm.ts'),
])
endWithNpm(process.env)
const code = await run(process.argv.slice(2), process.env)
process.exitCode ||= code // 1 already, where the output could not be written
