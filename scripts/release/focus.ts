// Checks the export in the form of FOCUS with the official validator, which is installed into a scratch directory. Its
// newest version needs Python 3.12 or newer; the rules of FOCUS 1.2 are in the package, and nothing else is fetched.
//   npm run release -- focus [--python python3.12] [--scratch DIR]
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDemo } from '../docs/page/demo.ts'

const { python, scratch } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    scratch: { type: 'string', default: join(tmpdir(), 'waybill-focus') },
  },
}).values
/** The validator takes every charge for one with an invoice, and contradicts the rule before this one. */
const NO_INVOICE = 'InvoiceId-C-005-C'

const validator = join(scratch, 'bin', 'focus-validator')
if (!existsSync(validator)) {
  execFileSync(python, ['-m', 'venv', scratch])
  execFileSync(join(scratch, 'bin', 'pip'), [
    'install',
    '--quiet',
    '--prefer-binary',
    'focus-validator',
    'pyarrow<20',
  ])
}

const files = mkdtempSync(join(tmpdir(), 'waybill-focus-file-'))
const demo = await startDemo({ calls: 2_000, keys: true })
try {
  for (let n = 0; n < 20; n++) await demo.call()
  const headers = { authorization: 'Bearer key-of-boss' }
  const answer = await fetch(`${demo.gateway.url}/api/usage/export?form=focus`, { headers })
  const file = join(files, 'focus.csv')
  const text = await answer.text()
  writeFileSync(file, text)
  process.stdout.write(`${text.split('\n').length - 2} charges\n`)
  // The validator looks for its list of currencies below the current directory.
  const [library] = globSync(join(scratch, 'lib', '*', 'site-packages'))
  // The specification's features that a gateway can know; the rules of the other features do not apply.
  const features =
    'USAGE_MEASUREMENT_SUPPORTED,SUB_ACCOUNT_SUPPORTED,TAGGING_SUPPORTED,ACCOUNT_NAMING_SUPPORTED'
  const { stdout, stderr } = spawnSync(
    validator,
    [
      ...['--data-file', file, '--validate-version', '1.2', '--block-download'],
      ...['--applicability-criteria', features],
    ],
    { encoding: 'utf8', cwd: library, maxBuffer: 2 ** 26 },
  )
  const lines = stdout.split('\n')
  const failed = lines.filter((line) => / FAIL /.test(line) && !line.includes(NO_INVOICE))
  const total = lines.find((line) => line.startsWith('Total: '))
  process.stdout.write([...failed, total ?? stderr, ''].join('\n'))
  process.exitCode = total === undefined || failed.length > 0 ? 1 : 0
} finally {
  await demo.close()
  rmSync(files, { recursive: true })
}
