// Worker process of `npm run selftest -- must-pass`: receives names of gateways, and sends back the results.
import { tryInnocent } from '../../conformance/selftest/innocent-run.ts'

process.on('message', async ({ name, only }: { name: string; only?: string[] }) => {
  process.send!(await tryInnocent(name, only))
})
process.on('disconnect', () => process.exit())
