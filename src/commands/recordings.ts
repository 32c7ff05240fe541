// `waybill recordings`: lists, verifies and imports recordings. Reads and writes files; reaches no provider.
import { existsSync, globSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Imported, importRecordings } from '../../mocks/import/import.ts'
import { providers } from '../../mocks/providers/registry.ts'
import { type KeepOptions, keepIn } from '../../mocks/recording/digest-key.ts'
import {
  ownRecordings,
  type Recording,
  readRecordings,
  scanRecordings,
} from '../../mocks/recording/format.ts'
import { type Blanked, wordBlanked } from '../../mocks/recording/make.ts'
import { agedRecordings, suspectsBelow, verifyRecordings } from '../../mocks/recording/verify.ts'
import { cleanLabel, cut } from '../terminal/clean.ts'
import { table } from '../terminal/table.ts'
import { cells } from '../terminal/width.ts'
import { nearest } from '../yaml/wording.ts'
import { UsageError } from './output.ts'

/** Prints the list of recordings. Throws if one of them cannot be read. */
export function listRecordings({ dir = ownRecordings, json }: { dir?: string; json?: boolean }): void {
  const rows = readRecordings(dir).map(rowOf)
  if (json) {
    print(JSON.stringify(rows, null, 2))
    return
  }
  const names = ['scenario', 'model', 'stream', 'status', 'chunks', 'bytes', 'origin', 'date'] as const
  const cells = rows.map((row) => names.map((name) => String(row[name] ?? 'any')))
  const lines = table([names, ...cells], {
    columns: process.stdout.columns ?? null,
    right: ['chunks', 'bytes'],
    shrink: ['scenario', 'model'],
  })
  const [heads, ...lined] = lines.split('\n')
  print(heads!)
  const groups = Map.groupBy(
    rows.map((row, i) => ({ place: `${row.provider}  ${row.endpoint}`, line: lined[i]! })),
    ({ place }) => place,
  )
  for (const [place, members] of groups) print(['', place, ...members.map(({ line }) => line)].join('\n'))
  print(`\n${rows.length} recordings in ${dir}`)
}

const rowOf = ({ name, provider, endpoint, request, response, bytes, origin, date }: Recording) => ({
  name,
  provider,
  endpoint,
  scenario: request.scenario,
  model: request.model,
  stream: request.stream,
  status: response.status,
  chunks: response.chunks.length,
  bytes: bytes.length,
  origin,
  date,
})

/**
 * Prints a line for each problem. Throws if there is a problem or nothing to verify; age is only a warning.
 */
export function verify({ dir = ownRecordings, olderThan }: { dir?: string; olderThan?: string }): void {
  const months = olderThan === undefined ? null : Number(olderThan)
  if (months !== null && !(Number.isInteger(months) && months > 0))
    throw new UsageError(`--older-than takes a number of months, such as 12, not "${olderThan}"`)
  const problems = verifyRecordings(dir)
  const { recordings } = scanRecordings(dir)
  if (recordings.length + problems.length === 0)
    throw new Error(`${dir} holds no recordings; name the folder they are in`)
  const aged = months === null ? [] : agedRecordings(dir, months, new Date())
  for (const problem of problems) print(`problem  ${problem}`)
  for (const line of aged) print(`warning  ${line}`)
  ask(dir)
  sumUp(recordings.map(({ redaction }) => redaction?.blanked ?? {}))
  const found = `${dir}: ${problems.length} problems${months === null ? '' : `, ${aged.length} warnings`}`
  if (problems.length > 0) throw new Error(found)
  print(found)
}

/** Asks about what may be a credential in kept answers. */
function ask(dir: string): void {
  const suspects = suspectsBelow(dir)
  for (const line of suspects) print(`ask      ${line}`)
  if (suspects.length > 0)
    print('If one is, record or import again in an empty folder, with --canary and the whole credential.')
}

/** Prints what was blanked although the answers are kept. */
function sumUp(blanked: readonly Blanked[]): void {
  const words = wordBlanked(blanked)
  if (words !== '') print(`Blanked in kept answers: ${words}`)
}

/**
 * Prints the result of each file and of each exchange. Throws if anything was refused, so that scripts that
 * import a folder of cassettes notice.
 */
export function importFiles({
  files: named,
  out,
  provider,
  canary,
  ...keeping
}: {
  files: readonly string[]
  out: string
  provider?: string
  canary?: readonly string[]
} & KeepOptions): void {
  const names = providers.map(({ name }) => name)
  // A host contains a dot.
  if (provider !== undefined && !provider.includes('.') && !names.includes(provider)) {
    const near = nearest(provider, names)
    throw new UsageError(
      `--provider: there is no ${JSON.stringify(provider)}; ${near === null ? `there are: ${names.join(', ')}, or a host such as api.cohere.com` : `did you mean ${near}?`}`,
    )
  }
  if (keeping.keepAnswers || keeping.keepText || keeping.keepRequests)
    mkdirSync(out, { recursive: true, mode: 0o700 })
  const keep = keepIn(out, keeping)
  const files = named.flatMap(filesOf)
  const shared = sharedFolder(files)
  const today = new Date().toISOString().slice(0, 10)
  const { onExchange, clear } = importProgress()
  const imported = importRecordings(files, { out, today, provider, keep, secrets: canary, onExchange })
  clear()
  const done = imported.map((one) => ({ ...one, file: one.file.slice(shared.length) }))
  for (const { file, written, known, refused } of done) {
    for (const { exchange, name, blanked } of written)
      print(
        `written  ${file}: exchange ${exchange}: ${name}${blanked ? ` (blanked: ${wordBlanked([blanked])})` : ''}`,
      )
    for (const { exchange, name } of known) print(`known    ${file}: exchange ${exchange}: ${name}`)
    for (const reason of refused) print(`refused  ${file}: ${reason}`)
  }
  const columns = ['exchanges', 'imported', 'known', 'refused']
  const counts = ({ read, written, known, refused }: Imported) => [
    read,
    written.length,
    known.length,
    refused.length,
  ]
  const sums = columns.map((_, i) => done.reduce((sum, one) => sum + counts(one)[i]!, 0))
  print(
    table(
      [
        ['file', ...columns],
        ...done.map((one) => [one.file, ...counts(one).map(String)]),
        ['all', ...sums.map(String)],
      ],
      { columns: process.stdout.columns ?? null, right: columns, shrink: ['file'] },
    ),
  )
  if (shared !== '') print(`The files are in ${shared}`)
  sumUp(done.flatMap(({ written }) => written.map(({ blanked = {} }) => blanked)))
  if (keep) ask(out)
  const [, written = 0, known = 0, refused = 0] = sums
  if (refused > 0) throw new Error(`${refused} refused, for the reasons above; ${written + known} imported`)
  if (written + known === 0) throw new Error('nothing was imported: the files hold no exchanges')
}

/** Names of files in a folder that may be recordings of other projects. */
const CASSETTE = /\.(?:ya?ml|json|har)(?:\.gz|\.zst)?$/i

/** Returns the files of an argument: of a folder its cassettes, of a pattern that the shell left all that fit. */
function filesOf(name: string): string[] {
  const below = (dir: string) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((file) => CASSETTE.test(file) && !/(?:^|[\\/])(?:\.|(?:node_modules|__files)[\\/])/.test(file))
      .sort()
      .map((file) => join(dir, file))
  const isFolder = statSync(name, { throwIfNoEntry: false })?.isDirectory()
  const found = isFolder
    ? below(name)
    : /[*?[{]/.test(name) && !existsSync(name)
      ? globSync(name).sort()
      : [name]
  if (found.length === 0)
    throw new UsageError(
      `${name}: there are no files with the ending .yaml, .yml, .json or .har, packed or not`,
    )
  return found
}

/** Interval between lines of progress, ms. */
const PROGRESS_MS = 200

/** Prints the progress of an import on a terminal, in a line that `clear` removes. */
function importProgress(): { onExchange(file: string, exchange: number, of: number): void; clear(): void } {
  const { stderr } = process
  let next = Date.now() + PROGRESS_MS
  return {
    onExchange(file, exchange, of) {
      if (!stderr.isTTY || Date.now() < next) return
      next = Date.now() + PROGRESS_MS
      const line = cut(
        cleanLabel(`${file}: exchange ${exchange} of ${of} …`),
        (stderr.columns ?? 80) - 1,
        cells,
      )
      stderr.write(`\r\u001b[K${line}`)
    },
    clear: () => void (stderr.isTTY && stderr.write('\r\u001b[K')),
  }
}

/**
 * Returns the common folder of all files, with a trailing slash. The folder is printed once, which leaves
 * room for the names.
 */
function sharedFolder([first = '', ...others]: readonly string[]): string {
  let folder = first.slice(0, first.lastIndexOf('/') + 1)
  while (!others.every((file) => file.startsWith(folder)))
    folder = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
  return folder
}

function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}
