// Runs a mutant as a process of its own, in the current directory: `node mutant-command.ts NAME`. Ends on SIGTERM.
import type { Mutant } from './mutant.ts'

const { mutant }: { mutant: Mutant } = await import(`./mutants/${process.argv[2]}.ts`)
try {
  const gateway = await mutant.start(process.cwd(), process.env as Record<string, string>)
  process.once('SIGTERM', async () => {
    await gateway.close()
    process.exit()
  })
} catch (cause) {
  process.stderr.write(`${(cause as Error).message}\n`)
  process.exit(1) // what had started already would hold it
}
