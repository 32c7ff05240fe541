// Detects drift of the providers' answers from our recordings: compares the structure of each recording with
// real captures of the same provider, endpoint and kind. Reads captures in place and stores no part of them.
// Usage: npm run release -- drift [--cassettes DIR]
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { exchangesOf } from '../../mocks/import/read.ts'
import { endpointOf } from '../../mocks/provider.ts'
import { placeAt, providers } from '../../mocks/providers/registry.ts'
import { isKeptHeader, type Recording, readRecordings } from '../../mocks/recording/format.ts'
import { compareShapes, type Drift, kindOf, shapeOf } from '../../mocks/recording/structure.ts'

/** Default directory of the optional captures. It may be missing. */
export const capturesDir =
  process.env.WAYBILL_CASSETTES ?? fileURLToPath(new URL('../../../shared/cassettes', import.meta.url))

/** Structures of all captures by "provider endpoint kind". */
type Captures = ReadonlyMap<string, readonly ReadonlySet<string>[]>

/** Compared recording; `drift` is null if there is no capture of its kind. */
interface DriftRow {
  readonly name: string
  readonly kind: string
  readonly captures: number
  readonly drift: Drift | null
}

/**
 * Reads the captures that `index.tsv` lists, except those that were edited by hand. Throws if one cannot be
 * read.
 */
export function readCaptures(dir: string): Captures {
  const captures = new Map<string, Set<string>[]>()
  for (const [file, interactions] of listed(dir)) {
    const exchanges = exchangesOf(file, readFileSync(join(dir, file), 'utf8'))
    for (const { url, method, status, responseHeaders, responseBody } of interactions.map(
      (n) => exchanges[n - 1]!,
    )) {
      const place = placeOf(method, url)
      if (!place) continue
      const answer = { status, headers: keptOf(responseHeaders), body: responseBody.toString() }
      const key = keyOf(place.provider, place.endpoint, kindOf(answer))
      captures.set(key, [...(captures.get(key) ?? []), shapeOf(answer)])
    }
  }
  return captures
}

/** Compares each recording with the captures of its kind. */
export function compareAll(recordings: readonly Recording[], captures: Captures): DriftRow[] {
  return recordings.map(({ name, provider, endpoint, response, bytes }) => {
    const answer = { status: response.status, headers: response.headers, body: Buffer.from(bytes).toString() }
    const kind = kindOf(answer)
    const seen = captures.get(keyOf(provider, endpoint, kind)) ?? []
    return {
      name,
      kind,
      captures: seen.length,
      drift: seen.length > 0 ? compareShapes(shapeOf(answer), seen) : null,
    }
  })
}

/** Captures of a kind below which a difference is no drift: one answer of one day has what others do not have. */
const MIN_CAPTURES = 3

/** Returns true if a recording has a fact that no capture has, or lacks a fact that all captures have. */
export const hasDrifted = ({ captures, drift }: DriftRow): boolean =>
  drift !== null && captures >= MIN_CAPTURES && (drift.unknown.length > 0 || drift.missing.length > 0)

/** Returns file -> positions, from 1, of the unedited interactions. */
function listed(dir: string): Map<string, number[]> {
  const files = new Map<string, number[]>()
  for (const line of readFileSync(join(dir, 'index.tsv'), 'utf8').trim().split('\n').slice(1)) {
    const [file = '', position = '', , , , , , flags = ''] = line.split('\t')
    if (!flags.split(',').includes('edited')) files.set(file, [...(files.get(file) ?? []), Number(position)])
  }
  return files
}

/**
 * Returns the group of a recording. A provider's errors are compared across endpoints, because they have the
 * same structure.
 */
function keyOf(provider: string, endpoint: string, kind: string): string {
  return kind.startsWith('error') ? `${provider} ${kind}` : `${provider} ${endpoint} ${kind}`
}

/** Placeholders of projects for an address on a private machine. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { '<OLLAMA_API_BASE>': 'http://localhost:11434/v1' }

/** Returns the provider of a recorded address, if known, and the endpoint's name, or else its path. */
function placeOf(method: string, url: string): { provider: string; endpoint: string } | null {
  const address = url.replace(/^<\w+>/, (name) => PLACEHOLDERS[name] ?? name)
  if (!URL.canParse(address)) return null
  const place = placeAt(providers, new URL(address))
  if (!place) return null
  const { provider, path } = place
  return { provider: provider.name, endpoint: endpointOf(provider, method, path)?.endpoint.name ?? path }
}

function keptOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isKeptHeader(name)))
}

function print(rows: readonly DriftRow[]): void {
  const line = (cells: readonly (string | number)[]) =>
    process.stdout.write(
      `${cells.map((cell, i) => (i < 2 ? String(cell).padEnd([40, 24][i]!) : String(cell).padStart(9))).join('')}\n`,
    )
  line(['recording', 'kind', 'captures', 'unknown', 'missing', 'optional'])
  for (const row of rows) {
    const { unknown, missing, optional } = row.drift ?? {}
    line([
      row.name,
      row.kind,
      row.captures,
      ...[unknown, missing, optional].map((facts) => facts?.length ?? '-'),
    ])
    for (const fact of unknown ?? []) process.stdout.write(`    in no capture:    ${fact}\n`)
    for (const fact of missing ?? []) process.stdout.write(`    in every capture: ${fact}\n`)
  }
  const drifted = rows.filter(hasDrifted).length
  const uncompared = rows.filter(({ drift }) => drift === null).length
  process.stdout.write(
    `\n${rows.length} recordings: ${rows.length - uncompared} compared, ${drifted} drifted, ${uncompared} not compared (no capture of that kind)\n`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { cassettes: { type: 'string', default: capturesDir } } })
  if (!existsSync(values.cassettes)) {
    process.stderr.write(`No captures in ${values.cassettes}; say where they are with --cassettes DIR.\n`)
    process.exit(2)
  }
  const rows = compareAll(readRecordings(), readCaptures(values.cassettes))
  print(rows)
  process.exitCode = rows.some(hasDrifted) ? 1 : 0
}
