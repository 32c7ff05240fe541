// Checks the metadata of a recorded live exchange: only values that import and record write are allowed.
// Pure; never repeats a value in a problem. Knows the fields and the rules of redaction.

import { providers } from '../providers/registry.ts'
import { deploymentName, hostName, modelName, namesItsModels, redactPath } from '../redaction/paths.ts'
import { blank, createPlaceholders } from '../redaction/placeholders.ts'
import { isStructural } from '../redaction/vocabulary.ts'
import type { Recording } from './format.ts'
import { isBlankedKind, isVersion, stemsOf } from './make.ts'

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
export function wrongInHead(recording: Recording): string[] {
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
export function liveTraces({ redaction, request, shape, note, bytes, response }: Recording): string | null {
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
export function holdsOnly(json: string, head: unknown): boolean {
  const size = (text: string) => text.replace(/\s+/g, '').length
  return size(json) === size(JSON.stringify(head))
}
