// Worker process of `npm run selftest -- must-pass`: receives names of gateways and sends back results.
import { tryMustPass } from '../../conformance/selftest/run.ts'

process.on('message', async ({ name, only }: { name: string; only?: string[] }) => {
  process.send!(await tryMustPass(name, only))
})
process.on('disconnect', () => process.exit())
