// Verifies that recordings are valid, that recordings of live exchanges contain nothing private (REC-01, REC-04), and that
// their metadata has only values that import and record write. Never repeats a value in a problem.
import { dirname, join } from 'node:path'
import { readInside } from '../../src/shared/bounded.ts'
import { idOf } from '../matching/digest.ts'
import { providers } from '../providers/registry.ts'
import { redactAnswer } from '../redaction/exchange.ts'
import { findCredential, suspectsIn } from '../redaction/leaks.ts'
import { deploymentName, hostName, modelName, namesItsModels, redactPath } from '../redaction/paths.ts'
import { blank, createPlaceholders } from '../redaction/placeholders.ts'
import { isStructural } from '../redaction/vocabulary.ts'
import { keyProblem } from './digest-key.ts'
import { bodyFile, MAX_FILE_BYTES, ownRecordings, type Recording, scanRecordings } from './format.ts'
import { isBlankedKind, isVersion, stemsOf } from './make.ts'

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

/** Notes that import writes. */
export const NOTE = 'The source kept neither chunks nor pace: one chunk for each event, no waits.'
export const UNDATED = 'It names no date: this is the day of the import.'

const NOTES = [
  new RegExp(`^${NOTE}(?: ${UNDATED})?$`.replaceAll('.', '\\.')),
  /^It came compressed \([a-z, ]{2,30}\); chunks and pace are not the provider's\.$/,
]
const IMPORTED =
  /^imported from a (?:vcrpy|Ruby VCR|R vcr|go-vcr|HAR|nock|httpmock|WireMock|Datadog test agent) file, sha256 [\da-f]{16}, exchange \d{1,9}, sha256 [\da-f]{16}$/
const LIVE = /^a live exchange with (.+)$/

/**
 * Returns true for a word that a user may choose: it has only letters, digits and a few signs, and does not
 * look like a token or an address.
 */
const isPlainWord = (word: string): boolean =>
  /^[\w.-]{1,64}$/.test(word) &&
  !word.split(/[-_.]/).some((piece) => piece.length >= 12 && /\d/.test(piece) && /[a-z]/i.test(piece))

/** Returns the problems in a live exchange's metadata, field by field, without the values. */
function wrongInHead(recording: Recording): string[] {
  const { name, provider, endpoint, request, response, note, shape, api_version, redaction } = recording
  const place = createPlaceholders(true)
  const nameModel = namesItsModels(provider) ? deploymentName : modelName
  const stand = providers.find((one) => one.name === provider)
  const known = stand?.endpoints.some((one) => one.name === endpoint)
  const unblanked = Object.keys(request.fields ?? {}).some(
    (field) => !isStructural(field) && field !== blank(field),
  )
  const stems = stemsOf(recording)
  const base = name.slice(name.lastIndexOf('/') + 1)
  const isNamed = (file: string) =>
    stems.some((stem) => file.startsWith(stem) && /^(?:-\d+)?$/.test(file.slice(stem.length)))
  const checks: [holds: boolean, problem: string][] = [
    [
      hostName(provider) === provider || (isPlainWord(provider) && !/[.:]/.test(provider)),
      'provider: names a private host',
    ],
    [
      known || endpoint === '-' || redactPath(endpoint, provider, undefined, place) === endpoint,
      'endpoint: is not redacted',
    ],
    [redactPath(request.path, provider, undefined, place) === request.path, 'request.path: is not redacted'],
    [
      request.model === null || nameModel(request.model, undefined, place) === request.model,
      'request.model: is not redacted',
    ],
    [isPlainWord(request.scenario), 'request.scenario: is not a plain name'],
    [!unblanked, 'request.fields: a name that is not the interface’s is not blanked'],
    [isVersion(api_version), 'api_version: is not a version of an interface'],
    [IMPORTED.test(shape) || isLive(shape, provider), 'shape: says more than where it comes from'],
    [
      Object.keys(redaction?.blanked ?? {}).every(isBlankedKind),
      'redaction.blanked: names a kind that record and import do not write',
    ],
    [
      note === undefined || NOTES.some((one) => one.test(note)),
      'note: is not one that record or import writes',
    ],
  ]
  const wrong = checks.filter(([holds]) => !holds).map(([, problem]) => problem)
  // The right name is suggested only if all its parts are valid.
  if (wrong.length > 0) return wrong
  if (!isNamed(base))
    return [
      `its name is not the one that record and import give, so it may reveal something; call it ${stems[0]}`,
    ]
  const isOurs = isNamed(response.body.replace(/\.(?:sse|body\.json|txt)$/, ''))
  return isOurs ? [] : ['response.body: does not have the name of its head']
}

function isLive(shape: string, provider: string): boolean {
  const host = LIVE.exec(shape)?.[1]
  return host !== undefined && (host === provider || hostName(host) === host)
}

/** Returns the reason why a recording that claims to be handwritten cannot be; null if it can. */
function liveTraces({ redaction, request, shape, note, bytes, response }: Recording): string | null {
  if (redaction) return 'has the proof of a redaction'
  if (request.fields) return 'has the sizes of a live request'
  if (/^imported from |^a live exchange /.test(shape)) return 'names a live source'
  if (note !== undefined && NOTES.some((one) => one.test(note))) return 'has the note of a live exchange'
  const text = `${Buffer.from(bytes).toString()} ${Object.values(response.headers).join(' ')}`
  return /(?:^|[^A-Za-z])REDACTED_\d/.test(text) ? 'has the placeholders of a redaction' : null
}

/**
 * Returns true if the file contains only the data that was read. A parser reads only one of several fields
 * with the same name.
 */
function holdsOnly(json: string, head: unknown): boolean {
  const size = (text: string) => text.replace(/\s+/g, '').length
  return size(json) === size(JSON.stringify(head))
}
