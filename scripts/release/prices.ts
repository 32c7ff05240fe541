// Installs a newer price table and prints its changes for the changelog: models that are new, gone, cheaper
// or dearer.
//   npm run release -- prices                     the newest version: pins it in package.json, and writes its
//                                                 date to src/pricing/pricing.ts
//   npm run release -- prices 0.1.9               that version
//   npm run release -- prices FILE.tgz            only prints the changes; needs no network
//   npm run release -- prices --dry-run [0.1.9]   the same for a version
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { ModelPrice, Provider, waitForUpdate } from '@pydantic/genai-prices'
import { PRICE_TABLE } from '../../src/pricing/pricing.ts'

const PACKAGE = '@pydantic/genai-prices'

/** Part of a price table that is compared. */
export type ComparedPrices = readonly {
  readonly id: string
  readonly models: readonly Pick<Provider['models'][number], 'id' | 'prices'>[]
}[]

/** Returns lines of Markdown by provider; an empty list if nothing changed. */
export function differences(before: ComparedPrices, after: ComparedPrices): string[] {
  const [old, young] = [byProvider(before), byProvider(after)]
  const ids = [...new Set([...old.keys(), ...young.keys()])].sort()
  return ids.flatMap((id) => {
    const [from, to] = [old.get(id), young.get(id)]
    if (!from) return [`- ${id}: a new provider, ${to!.size} models`]
    if (!to) return [`- ${id}: gone, with ${from.size} models`]
    const kept = [...to].filter(([model]) => from.has(model))
    const changed = kept.map(([model, prices]) => ({ model, ...change(from.get(model)!, prices) }))
    const named = (word: string, models: readonly string[]) =>
      models.length > 0 ? [`- ${id}, ${word}: ${models.toSorted().join(', ')}`] : []
    const moved = (word: string) =>
      named(
        word,
        changed.filter(({ how }) => how === word).map(({ model, text }) => `${model} (${text})`),
      )
    return [
      ...moved('cheaper'),
      ...moved('dearer'),
      ...moved('changed'),
      ...named(
        'new',
        [...to.keys()].filter((model) => !from.has(model)),
      ),
      ...named(
        'gone',
        [...from.keys()].filter((model) => !to.has(model)),
      ),
    ]
  })
}

const byProvider = (table: ComparedPrices) =>
  new Map(table.map(({ id, models }) => [id, new Map(models.map((model) => [model.id, model.prices]))]))

type Prices = ComparedPrices[number]['models'][number]['prices']

/**
 * Returns `cheaper` or `dearer` if every changed rate went the same way; otherwise, and for prices with
 * conditions, `changed`.
 */
function change(
  before: Prices,
  after: Prices,
): { how: 'same' | 'cheaper' | 'dearer' | 'changed'; text: string } {
  if (JSON.stringify(before) === JSON.stringify(after)) return { how: 'same', text: '' }
  if (Array.isArray(before) || Array.isArray(after))
    return { how: 'changed', text: 'its price depends on the time or a date' }
  const rates = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const moved = rates.filter((rate) => JSON.stringify(before[rate]) !== JSON.stringify(after[rate]))
  if (moved.length === 0) return { how: 'same', text: '' }
  const ways = new Set(moved.map((rate) => way(before[rate], after[rate])))
  const how = ways.size === 1 ? [...ways][0]! : 'changed'
  const text = moved.map((rate) => `${WORDS[rate] ?? rate} ${told(before[rate])} → ${told(after[rate])}`)
  return { how, text: text.join(', ') }
}

type Rate = ModelPrice[string]

function way(before: Rate, after: Rate): 'cheaper' | 'dearer' | 'changed' {
  if (typeof before !== 'number' || typeof after !== 'number') return 'changed'
  return after < before ? 'cheaper' : 'dearer'
}

const told = (rate: Rate): string => {
  if (rate === undefined) return 'none'
  return typeof rate === 'number' ? `$${rate}` : `from $${rate.base} in tiers`
}

/** Rates of the table by name, in words; US dollars per million tokens unless stated otherwise. */
const WORDS: Readonly<Record<string, string>> = {
  input_mtok: 'input',
  output_mtok: 'output',
  cache_read_mtok: 'read from a cache',
  cache_write_mtok: 'written to a cache',
  cache_write_1h_mtok: 'written to a cache for an hour',
  requests_kcount: 'a thousand requests',
  web_searches_kcount: 'a thousand web searches',
}

/** Returns the price table of the package installed or unpacked at `place`. */
async function read(place: string): Promise<{ version: string; table: ComparedPrices }> {
  const require = createRequire(join(place, 'here.js'))
  const { version } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
  const table = await (require(place) as { waitForUpdate: typeof waitForUpdate }).waitForUpdate()
  if (!table?.length) throw new Error(`${PACKAGE} ${version} no longer says its prices when it is asked`)
  return { version, table }
}

/** Runs a program to its end and returns its output. Throws with its errors if it fails. */
function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(
      `${command} ${args.join(' ')} failed: ${stderr.trim().split('\n').slice(0, 2).join('; ')}`,
    )
  return stdout
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  })
  const root = join(import.meta.dirname, '../..')
  const wanted = positionals[0] ?? 'latest'
  const isFile = wanted.endsWith('.tgz')
  if (isFile && !existsSync(wanted)) throw new Error(`${wanted}: no such file`)
  const scratch = mkdtempSync(join(tmpdir(), 'waybill-prices-'))
  try {
    const tarball = isFile
      ? resolve(wanted)
      : join(scratch, run('npm', ['pack', '--loglevel=error', `${PACKAGE}@${wanted}`], scratch).trim())
    run('tar', ['-xzf', tarball], scratch)
    const before = await read(join(root, 'node_modules', PACKAGE))
    const after = await read(join(scratch, 'package'))
    const lines = differences(before.table, after.table)
    console.log(`Prices of genai-prices ${after.version}, before ${before.version}:`)
    console.log(lines.length > 0 ? lines.join('\n') : '- no price changed')
    if (isFile || values['dry-run'] || after.version === before.version) return
    run('npm', ['install', '--save-exact', '--no-audit', '--no-fund', `${PACKAGE}@${after.version}`], root)
    const published = JSON.parse(run('npm', ['view', PACKAGE, 'time', '--json'], root))[after.version]
    stamp(join(root, 'src/pricing/pricing.ts'), after.version, published.slice(0, 10))
    console.log(
      `\npinned in package.json; its date is in src/pricing/pricing.ts. Put the lines above into CHANGELOG.md`,
    )
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

/** Writes version and date into src/pricing/pricing.ts. */
function stamp(file: string, version: string, date: string): void {
  const text = readFileSync(file, 'utf8')
  const { name } = PRICE_TABLE
  const line = `export const PRICE_TABLE = { name: '${name}', version: '${version}', date: '${date}' } as const`
  const stamped = text.replace(/^export const PRICE_TABLE = .*$/m, line)
  if (!stamped.includes(line))
    throw new Error(`${file} has no line that begins with "export const PRICE_TABLE"`)
  writeFileSync(file, stamped)
}

if (import.meta.main)
  await main().catch((error: Error) => {
    console.error(`prices: ${error.message}`)
    process.exitCode = 1
  })
