// Runs a fault as a process of its own, in the current directory: `node fault-command.ts NAME`. Ends on SIGTERM.
import type { Fault } from './fault.ts'

const { fault }: { fault: Fault } = await import(`./faults/${process.argv[2]}.ts`)
try {
  const gateway = await fault.start(process.cwd(), process.env as Record<string, string>)
  process.once('SIGTERM', async () => {
    await gateway.close()
    process.exit()
  })
} catch (cause) {
  process.stderr.write(`${(cause as Error).message}\n`)
  process.exit(1) // what had started already would hold it
}
