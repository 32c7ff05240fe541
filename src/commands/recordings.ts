// `waybill recordings`: lists, verifies and imports recordings. Reads and writes files; reaches no provider.
import { type Imported, importRecordings } from '../../mocks/import/import.ts'
import { ownRecordings, type Recording, readRecordings, scanRecordings } from '../../mocks/recording.ts'
import { agedRecordings, verifyRecordings } from '../../mocks/verify.ts'
import { table } from '../terminal/table.ts'
import { UsageError } from './usage-error.ts'

/** Throws when one of them cannot be read. */
export function list({ dir = ownRecordings, json }: { dir?: string; json?: boolean }): void {
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

/** Prints a line for each problem and throws when there is one, or nothing to verify; what is old is a warning only. */
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
  const found = `${dir}: ${problems.length} problems${months === null ? '' : `, ${aged.length} warnings`}`
  if (problems.length > 0) throw new Error(found)
  print(found)
}

/**
 * Prints what became of each file and of each exchange. Throws when anything was refused: whoever imports a folder of
 * cassettes in a script has to notice.
 */
export function importFiles({
  files,
  out,
  provider,
}: {
  files: readonly string[]
  out: string
  provider?: string
}): void {
  const shared = sharedFolder(files)
  const today = new Date().toISOString().slice(0, 10)
  const done = importRecordings(files, { out, today, provider }).map((one) => ({
    ...one,
    file: one.file.slice(shared.length),
  }))
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
  for (const { file, written, known, refused } of done) {
    for (const { exchange, name } of written) print(`written  ${file}: exchange ${exchange}: ${name}`)
    for (const { exchange, name } of known) print(`known    ${file}: exchange ${exchange}: ${name}`)
    for (const reason of refused) print(`refused  ${file}: ${reason}`)
  }
  const [, written = 0, known = 0, refused = 0] = sums
  if (refused > 0) throw new Error(`${refused} refused, for the reasons above; ${written + known} imported`)
  if (written + known === 0) throw new Error('nothing was imported: the files hold no exchanges')
}

/** The folder that all files are in, with a slash at its end: saying it once leaves room for what differs. */
function sharedFolder([first = '', ...others]: readonly string[]): string {
  let folder = first.slice(0, first.lastIndexOf('/') + 1)
  while (!others.every((file) => file.startsWith(folder)))
    folder = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1)
  return folder
}

function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}
