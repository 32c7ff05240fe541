#!/usr/bin/env node
// Loads and runs the command named in argv, and ends the process with its exit code. Exit codes: 0 done, 1
// failed (also on an old Node), 2 wrong arguments or configuration.

import manifest from '../package.json' with { type: 'json' }

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 22)) {
  // Must come before any native module, because better-sqlite3 crashes on an old Node instead of failing.
  process.stderr.write(`waybill: Node ${process.versions.node} is too old; use Node 22.22 or newer.\n`)
  process.exit(1)
}

const { forgiveLeavingReaders } = await import('./commands/output.ts')
forgiveLeavingReaders()
const [command, ...options] = process.argv.slice(2)
if (command === '--version' && options.length === 0) process.stdout.write(`${manifest.version}\n`)
else if (command === 'statusline' && isDrawn(options)) {
  // A client draws its line again and again, so nothing else is loaded.
  process.argv.splice(2, 1)
  await import('./statusline/main.ts')
} else {
  // Must run before other modules are loaded.
  if (command === 'serve') (await import('./commands/young-generation.ts')).holdYoungGeneration()
  const [{ run }, { endWithNpm }] = await Promise.all([
    import('./commands/program.ts'),
    import('./commands/end-with-npm.ts'),
  ])
  endWithNpm(process.env)
  const code = await run(process.argv.slice(2), process.env)
  process.exitCode ||= code // the exit code is already 1 if the output could not be written
}

/** Returns true if a client asks for its line, and no configuration names the gateway. */
function isDrawn([first = '-', ...others]: readonly string[]): boolean {
  return (
    first.startsWith('-') &&
    ![first, ...others].some((option) => /^(-h|--help|-c|--config)/.test(option)) &&
    !process.env.WAYBILL_CONFIG
  )
}
