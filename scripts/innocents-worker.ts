// One process of `npm run innocents`: tries the innocents that it is told by name, some at a time, and says what came out.
import { tryInnocent } from '../conformance/innocent-run.ts'

process.on('message', async ({ name, only }: { name: string; only?: string[] }) => {
  process.send!(await tryInnocent(name, only))
})
process.on('disconnect', () => process.exit())
