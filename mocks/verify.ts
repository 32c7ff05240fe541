// Proves that recordings are in order, and that those of live exchanges contain nothing private (REC-01, REC-04).
// Knows files and the rules of redaction. Repairs nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findCredential } from './leaks.ts'
import { createPlaceholders } from './placeholders.ts'
import { bodyFile, ownRecordings, type Recording, scanRecordings } from './recording.ts'
import { redactAnswer } from './redaction.ts'
import { holdsOnly, liveTraces, wrongInHead } from './verify-head.ts'

/**
 * Everything that is wrong with the recordings below `dir`, a line each with file and remedy; empty when all is well.
 * Beyond what reading checks: no body file without a head, no two heads for one request, no credential, nothing in
 * head or answer of a live exchange that redaction would still take out, and no live exchange under another name.
 */
export function verifyRecordings(dir: string = ownRecordings): string[] {
  const { recordings, problems, files } = scanRecordings(dir)
  // While a head cannot be read, it is unknown which body belongs to it.
  const owned = new Set(
    problems.length > 0 ? files : recordings.flatMap((one) => [`${one.name}.json`, bodyFile(one.name, one)]),
  )
  for (const file of files) {
    if (!owned.has(file) && file !== 'README.md')
      problems.push(`${file}: no recording names this file as its body; delete it or write its head`)
    const at = findCredential(readFileSync(join(dir, file), 'latin1'))
    if (at !== null) problems.push(`${file}: contains what looks like a credential at byte ${at}; redact it`)
  }
  const seen = new Map<string, string>()
  for (const recording of recordings) {
    const { name, provider, endpoint, request } = recording
    const { method, model, stream, scenario, order } = request
    const key = JSON.stringify([provider, method, endpoint, model, stream, scenario, order])
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

/** What is wrong with one: with a live exchange anything that tells of it, with another that it is a live one. */
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
  const whole = holdsOnly(readFileSync(join(dir, `${name}.json`), 'utf8'), head)
  const left = unredacted(recording)
  return [
    ...wrongInHead(recording),
    ...(whole ? [] : ['contains more than is read from it']),
    ...(left ? [left] : []),
  ].map((problem) => (/; call it/.test(problem) ? problem : `${problem}; record or import it again`))
}

/** The recordings that were made more than `months` ago, a line each: the provider may have changed since. */
export function agedRecordings(dir: string, months: number, now: Date): string[] {
  const limit = new Date(now)
  limit.setUTCMonth(limit.getUTCMonth() - months)
  const oldest = limit.toISOString().slice(0, 10)
  return scanRecordings(dir)
    .recordings.filter(({ date }) => date < oldest)
    .map(({ name, date }) => `${name}.json: is of ${date}, more than ${months} months old; record it again`)
}

/** Redacting what is redacted changes nothing, so whatever it would change was never redacted. */
function unredacted({ provider, request, response, bytes }: Recording): string | null {
  const { method, path } = request
  try {
    const { headers, body } = redactAnswer(
      {
        method,
        path,
        headers: response.headers,
        body: bytes,
        provider,
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
