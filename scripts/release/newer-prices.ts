// Carries over the prices that the Python edition of the price table has and the installed edition lacks, and
// those that differ, for the providers that `waybill init` offers. Writes src/pricing/newer-prices.jsonl.
// Takes data only: no code of the package is run. Needs Python 3.9 or newer with pip.
//   npm run release -- newer-prices 0.2.3         downloads that version
//   npm run release -- newer-prices FILE.whl      needs no network
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { findProvider, ModelPrice, Provider, waitForUpdate } from '@pydantic/genai-prices'
import { PRESETS } from '../../src/config/presets.ts'

type Model = Pick<Provider['models'][number], 'id' | 'match' | 'prices'>
type Table = readonly { readonly id: string; readonly models: readonly Model[] }[]

const library = createRequire(import.meta.url)('@pydantic/genai-prices') as {
  findProvider: typeof findProvider
  waitForUpdate: typeof waitForUpdate
}

/** Reads the list of providers from the package as nested mappings, without running the package. */
const READ = `
import ast, json, sys, zipfile
def value(node):
    if isinstance(node, ast.Constant): return node.value
    if isinstance(node, (ast.List, ast.Tuple)): return [value(each) for each in node.elts]
    if isinstance(node, ast.Dict): return {value(k): value(v) for k, v in zip(node.keys, node.values)}
    name = ast.unparse(node.func)
    if name == 'Decimal': return float(node.args[0].value)
    if name == 'datetime.date': return '-'.join(f'{each.value:02}' for each in node.args)
    if name == 'datetime.time': return ':'.join(f'{each.value:02}' for each in (*node.args, ast.Constant(0))[:3]) + 'Z'
    if node.args: raise SystemExit(f'{name} has members without names')
    return {each.arg.rstrip('_'): value(each.value) for each in node.keywords}
text = zipfile.ZipFile(sys.argv[1]).read('genai_prices/data.py').decode()
json.dump(next(value(each.value) for each in ast.parse(text).body if isinstance(each, ast.AnnAssign)), sys.stdout)
`

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 })
  if (status !== 0) throw new Error(`${command} failed: ${stderr.trim().split('\n').at(-1)}`)
  return stdout
}

/** Returns prices as the installed edition writes them. Its constraints name their type, and absent ones are left out. */
function pricesAs(prices: Model['prices']): Model['prices'] {
  if (!Array.isArray(prices)) return prices
  return prices.map(({ constraint, prices }) => ({
    ...(constraint && {
      constraint: { ...constraint, type: 'start_date' in constraint ? 'start_date' : 'time_of_date' },
    }),
    prices,
  })) as Model['prices']
}

/** Returns true if the installed edition can compute with all rates. */
const isPriceable = (prices: Model['prices'], known: ReadonlySet<string>): boolean =>
  ratesOf(prices).every((rates) => Object.keys(rates).every((rate) => known.has(rate)))

const ratesOf = (prices: Model['prices']): readonly ModelPrice[] =>
  Array.isArray(prices) ? prices.map((each) => each.prices) : [prices]

/** Returns the models of `newer` that `installed` lacks, names or prices otherwise, for the providers of `ids`. */
export function newerModels(installed: Table, newer: Table, ids: ReadonlySet<string>): Table {
  const known = new Set(
    installed.flatMap(({ models }) =>
      models.flatMap(({ prices }) => ratesOf(prices).flatMap((rates) => Object.keys(rates))),
    ),
  )
  const bare = ({ id, match, prices }: Model) => ({ id, match, prices })
  return newer.flatMap(({ id, models }) => {
    const old = new Map(
      installed.find((each) => each.id === id)?.models.map((model) => [model.id, bare(model)]),
    )
    const found = models
      .map((model) => ({ ...bare(model), prices: pricesAs(model.prices) }))
      .filter((model) => !isDeepStrictEqual(model, old.get(model.id)) && isPriceable(model.prices, known))
    return ids.has(id) && found.length > 0 ? [{ id, models: found }] : []
  })
}

async function main([wanted = '']: readonly string[]): Promise<void> {
  if (wanted === '') throw new Error('name a version of genai-prices, or a file')
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-prices-'))
  try {
    if (!wanted.endsWith('.whl'))
      run('python3', ['-m', 'pip', 'download', '-q', '--no-deps', '-d', scratch, `genai-prices==${wanted}`])
    const wheel = wanted.endsWith('.whl') ? resolve(wanted) : join(scratch, readdirSync(scratch)[0]!)
    const text = run('python3', ['-c', READ, wheel])
    const ids = new Set(
      PRESETS.flatMap(({ name, baseUrl }) => {
        const found = library.findProvider({ providerApiUrl: baseUrl })
        return found ? [found.id] : (library.findProvider({ providerId: name })?.id ?? [])
      }),
    )
    const found = newerModels((await library.waitForUpdate())!, JSON.parse(text), ids)
    const version = /^genai_prices-([\d.]+)-/.exec(basename(wheel))?.[1]
    const checked = [...text.matchAll(/verified on (\d{4}-\d\d-\d\d)/g)].map(([, date]) => date!).toSorted()
    const head = { name: 'genai-prices', version, date: checked.at(-1), edition: 'Python' }
    const rows = found.flatMap(({ id, models }) => models.map((model) => ({ provider: id, ...model })))
    const file = join(import.meta.dirname, '../../src/pricing/newer-prices.jsonl')
    writeFileSync(file, [head, ...rows].map((row) => `${JSON.stringify(row)}\n`).join(''))
    console.log(`${rows.length} prices of ${found.length} providers are in ${file}`)
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

if (import.meta.main)
  await main(process.argv.slice(2)).catch((error: Error) => {
    console.error(`newer-prices: ${error.message}`)
    process.exitCode = 1
  })
