// Verifies that recordings are valid, and that recordings of live exchanges contain nothing private (REC-01,
// REC-04). Knows files and the rules of redaction. Does not repair recordings.
import { dirname, join } from 'node:path'
import { readInside } from '../../src/shared/bounded.ts'
import { idOf } from '../matching/digest.ts'
import { redactAnswer } from '../redaction/exchange.ts'
import { findCredential, suspectsIn } from '../redaction/leaks.ts'
import { createPlaceholders } from '../redaction/placeholders.ts'
import { keyProblem } from './digest-key.ts'
import { bodyFile, MAX_FILE_BYTES, ownRecordings, type Recording, scanRecordings } from './format.ts'
import { holdsOnly, liveTraces, wrongInHead } from './verify-head.ts'

/**
 * Returns every problem of the recordings below `dir`, each on a line with its file and remedy. Reading
 * checks the format. This function also finds body files without a JSON file, two recordings of one request,
 * and credentials. In live exchanges it finds private parts that redaction would remove, and false claims not
 * to be live.
 */
export function verifyRecordings(dir: string = ownRecordings): string[] {
  const { recordings, problems, files } = scanRecordings(dir)
  // While a JSON file cannot be read, it is unknown which body belongs to it.
  const owned = new Set(
    problems.length > 0 ? files : recordings.flatMap((one) => [`${one.name}.json`, bodyFile(one.name, one)]),
  )
  for (const file of files) {
    if (!owned.has(file) && file !== 'README.md')
      problems.push(`${file}: no recording names this file as its body; delete it or write its head`)
    try {
      const found = findCredential(readInside(dir, file, MAX_FILE_BYTES).toString('latin1'))
      if (found)
        problems.push(
          `${file}: contains what looks like a credential (${found.form}) at byte ${found.at}; redact it`,
        )
    } catch (error) {
      problems.push(`${file}: ${(error as Error).message}`)
    }
  }
  const open = keyProblem(dir)
  if (open) problems.push(open)
  const seen = new Map<string, string>()
  for (const recording of recordings) {
    const { name, provider, endpoint, request } = recording
    const { method, model, stream, scenario, order } = request
    const said = request.said && idOf(request.said, 'exact')
    const key = JSON.stringify([
      ...[provider, method, endpoint, model, stream, scenario, order],
      ...[said, request.when],
    ])
    const first = seen.get(key)
    if (first)
      problems.push(
        `${name}.json: request: answers the same request as ${first}.json; change its scenario or order, or delete it`,
      )
    else seen.set(key, name)
    problems.push(...wrongWith(dir, recording).map((problem) => `${name}.json: ${problem}`))
  }
  return problems
}

/**
 * Returns the problems of a recording: private content in a live exchange, or traces of a live exchange in
 * another recording.
 */
function wrongWith(dir: string, recording: Recording): string[] {
  if (recording.origin !== 'recorded') {
    const trace = liveTraces(recording)
    return trace
      ? [
          `origin: is ${recording.origin}, but it ${trace}; make it recorded again, or record or import it again`,
        ]
      : []
  }
  const { name, bytes: _, ...head } = recording
  const whole = holdsOnly(readInside(dir, `${name}.json`, MAX_FILE_BYTES).toString('utf8'), head)
  const left = unredacted(recording)
  return [
    ...wrongInHead(recording),
    ...(whole ? [] : ['contains more than is read from it']),
    ...(left ? [left] : []),
  ].map((problem) => (/; call it/.test(problem) ? problem : `${problem}; record or import it again`))
}

/**
 * Returns the recordings that are older than `months`, one on each line. The provider may have changed since
 * then.
 */
export function agedRecordings(dir: string, months: number, now: Date): string[] {
  const limit = new Date(now)
  limit.setUTCMonth(limit.getUTCMonth() - months)
  const oldest = limit.toISOString().slice(0, 10)
  return scanRecordings(dir)
    .recordings.filter(({ date }) => date < oldest)
    .map(({ name, date }) => `${name}.json: is of ${date}, more than ${months} months old; record it again`)
}

/** Returns what may be a credential in kept answers and requests, one on each line; only the user can say. */
export function suspectsBelow(dir: string): string[] {
  return scanRecordings(dir).recordings.flatMap(({ name, bytes, request, redaction, response }) => {
    if (redaction?.keeps === undefined) return []
    const texts = [
      [join(dirname(name), response.body), Buffer.from(bytes).toString()],
      [`${name}.json`, JSON.stringify([request.asked, request.said?.parts.map(({ text }) => text)])],
    ] as const
    return texts.flatMap(([file, text]) => {
      const [first, ...others] = suspectsIn(text)
      if (!first) return []
      const more = others.length > 0 ? `, and ${others.length} more` : ''
      return [`${file}: is ${JSON.stringify(first.start)} a credential${more}?`]
    })
  })
}

/** Returns the parts that redaction would still change; redacting twice changes nothing. */
function unredacted({ provider, request, response, bytes, redaction }: Recording): string | null {
  const { method, path } = request
  try {
    const { headers, body } = redactAnswer(
      {
        method,
        path,
        headers: response.headers,
        body: bytes,
        provider,
        keepsAnswer: redaction?.keeps !== undefined,
      },
      undefined,
      createPlaceholders(true),
    )
    for (const [name, value] of Object.entries(headers))
      if (value !== response.headers[name]) return `response.headers: ${name} is not redacted`
    const at = body.findIndex((byte, i) => byte !== bytes[i])
    return at < 0 ? null : `${response.body} is not redacted at byte ${at}`
  } catch (error) {
    return `${response.body}: ${(error as Error).message}`
  }
}
