// `waybill recordings`: lists, verifies and imports recordings. Reads and writes files; reaches nobody.
import { type Imported, importRecordings } from '../../mocks/import/import.ts'
import { ownRecordings, type Recording, readRecordings, scanRecordings } from '../../mocks/recording.ts'
import { agedRecordings, verifyRecordings } from '../../mocks/verify.ts'
import { GatewayError } from '../errors.ts'
import { table } from '../terminal/table.ts'

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
    throw new GatewayError(
      'invalid_request',
      `--older-than takes a number of months, such as 12, not "${olderThan}"`,
    )
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

/** Prints what became of each file, and why something was refused. Throws when nothing at all was imported. */
export function importFiles({ files, out }: { files: readonly string[]; out: string }): void {
  const shared = sharedFolder(files)
  const done = importRecordings(files, out, new Date().toISOString().slice(0, 10)).map((one) => ({
    ...one,
    file: one.file.slice(shared.length),
  }))
  const sum = (count: (one: Imported) => number) => String(done.reduce((total, one) => total + count(one), 0))
  const counts = ({ read, written, refused }: Imported) => [read, written.length, refused.length].map(String)
  print(
    table(
      [
        ['file', 'exchanges', 'imported', 'refused'],
        ...done.map((one) => [one.file, ...counts(one)]),
        [
          'all',
          sum(({ read }) => read),
          sum(({ written }) => written.length),
          sum(({ refused }) => refused.length),
        ],
      ],
      {
        columns: process.stdout.columns ?? null,
        right: ['exchanges', 'imported', 'refused'],
        shrink: ['file'],
      },
    ),
  )
  if (shared !== '') print(`The files are in ${shared}`)
  for (const { file, refused } of done) for (const reason of refused) print(`refused  ${file}: ${reason}`)
  if (done.every(({ written }) => written.length === 0)) throw new Error('nothing was imported')
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
