// Runs a must-fail gateway as a separate process, in the current directory: `node command.ts NAME`. Ends on
// SIGTERM.
import { start } from './in-process.ts'

try {
  const gateway = await start(process.cwd(), process.env as Record<string, string>, process.argv[2])
  process.once('SIGTERM', async () => {
    await gateway.close()
    process.exit()
  })
} catch (cause) {
  process.stderr.write(`${(cause as Error).message}\n`)
  process.exit(1) // because parts that have started would keep the process running
}
