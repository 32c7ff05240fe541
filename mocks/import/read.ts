// Picks the reader of a foreign recording by content, not by file name, and reads each exchange separately. Rejects a broken
// exchange with an error that names it, and a truncated file as a whole. Reads the YAML files of VCR for Python, Ruby and Go
// itself.

import { parse } from 'yaml'
import { ZodError, z } from 'zod'
import {
  type BodyFile,
  body,
  decodeText,
  headerLists,
  type ImportFormat,
  type Interaction,
  interactionOf,
  MAX_IMPORTED_BYTES,
  readVcr,
  type Unreadable,
  unpackedFile,
} from './interaction.ts'
import { jsonFormats } from './json.ts'

const { har, httpmock, nock, testAgent, wireMock } = jsonFormats

export interface Foreign {
  readonly format: string
  readonly exchanges: readonly (Interaction | Unreadable)[]
}

/** Throws if no reader knows the format or the file is truncated; the message begins with the file's name. */
export function readForeign(file: string, content: string | Buffer, bodyFile?: BodyFile): Foreign {
  try {
    const text =
      typeof content === 'string' ? content.replace(/^\ufeff/, '') : decodeText(unpackedFile(content))
    const { format, items } = contentOf(text)
    const missing = /^\s*[{[]/.test(text) ? null : format.cut(text, items.at(-1))
    if (missing) throw new Error(`is truncated: ${missing}; record it again or use a complete copy`)
    return { format: format.name, exchanges: items.map((item) => exchangeOf(format, item, bodyFile)) }
  } catch (cause) {
    throw new Error(`${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns the exchanges of a file that must be complete. Throws if one cannot be read. */
export function exchangesOf(file: string, content: string | Buffer): Interaction[] {
  return readForeign(file, content).exchanges.map((one, i) => {
    if ('refused' in one) throw new Error(`${file}: exchange ${i + 1}: ${one.refused}`)
    return one
  })
}

interface Content {
  readonly format: ImportFormat
  readonly items: readonly unknown[]
}

function contentOf(text: string): Content {
  if (/^\s*[{[]/.test(text)) return jsonContent(text)
  if (/^http_interactions:/m.test(text))
    return { format: vcrOf(text), items: yamlList(text, 'http_interactions') }
  if (/^interactions:/m.test(text)) {
    // Both formats use the same name for the list; vcrpy stores addresses under `uri`, go-vcr under `url`.
    const format = /^[ \t]+(?:- )?uri:|"uri":/m.test(text) ? vcrpy : goVcr
    return { format, items: yamlList(text, 'interactions') }
  }
  if (/^log:/m.test(text)) return harContent(parseYaml(text))
  if (/^when:/m.test(text) && /^then:/m.test(text)) return { format: httpmock, items: yamlDocuments(text) }
  throw unknown(text, {})
}

/** The port to R names itself `vcr/1.2.0` or `VCR-vcr/2.1.0`, the original `VCR 6.4.0`. */
const vcrOf = (text: string): ImportFormat =>
  /"?recorded_with"?: *["']?(?:VCR-)?vcr\//.test(text) ? rVcr : rubyVcr

function jsonContent(text: string): Content {
  const json = parsed(text)
  const { log, http_interactions, interactions, mappings } = json
  if (typeof log === 'object' && log !== null) return harContent(json)
  const single = (holds: (json: Json) => boolean) => (holds(json) ? [json] : undefined)
  const lists: [ImportFormat, unknown][] = [
    [vcrOf(text), http_interactions],
    [vcrpy, interactions],
    [testAgent, single(isOfTestAgent)],
    [wireMock, mappings ?? single(isMapping)],
    [nock, Array.isArray(json) && json.every(isNock) ? json : undefined],
  ]
  for (const [format, items] of lists)
    if (Array.isArray(items) && !items.some(isPact)) return { format, items }
  throw unknown(text, json)
}

function harContent(json: unknown): Content {
  const { log } = json as { log?: { entries?: unknown } }
  if (Array.isArray(log?.entries)) return { format: har, items: log.entries }
  throw new Error('log.entries is not a list; export it again')
}

const isMapping = ({ request, response }: Json): boolean =>
  typeof response === 'object' &&
  typeof request === 'object' &&
  request !== null &&
  ['url', 'urlPath', 'urlPattern', 'urlPathPattern'].some((name) => name in request)
/** A mapping of WireMock has no scheme in its address, and a number for the status. */
const isOfTestAgent = ({ request, response }: Json): boolean =>
  /^https?:/.test(String((request as Json | null)?.url)) &&
  typeof (response as Json | null)?.status === 'object'
const isNock = (item: unknown): boolean =>
  typeof item === 'object' && item !== null && 'scope' in item && 'path' in item
const isPact = (item: unknown): boolean => {
  const { description, request } = (item ?? {}) as { description?: unknown; request?: Json }
  return description !== undefined && request?.uri === undefined
}

type Json = Readonly<Record<string, unknown>>

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes several lines of the file.
    throw new Error('is not JSON, or is truncated; export it again')
  }
}

/** Formats that are recognized only to be named. */
const OTHERS: readonly [name: string, mark: RegExp][] = [
  ['Postman', /schema\.getpostman\.com/],
  ['OpenAPI', /^\s*(?:\{\s*)?"?(?:openapi|swagger)"?\s*:/],
  ['Hoverfly', /"pairs"\s*:/],
  ['MockServer', /"httpRequest"\s*:/],
  ['Pact', /"consumer"\s*:/],
  ['Mountebank', /"(?:imposters|predicates)"\s*:/],
  ['Insomnia', /"_type"\s*:\s*"export"/],
  ['a Waybill recording', /"origin"\s*:\s*"(?:recorded|authored|synthetic)"/],
]

/** Says in words what a file is that no reader knows. */
function unknown(text: string, json: Json): Error {
  const start = text.slice(0, 100_000)
  const name = OTHERS.find(([, mark]) => mark.test(start))?.[0]
  const members = Array.isArray(json) ? 'a list' : Object.keys(json).slice(0, 5).join(', ')
  const looks = name
    ? `looks like ${name}: `
    : text.trim() === ''
      ? 'is empty: '
      : members === ''
        ? ''
        : `is JSON with ${members}: `
  return new Error(`${looks}no known recording format (${FORMATS})`)
}

const FORMATS = 'vcrpy, VCR of Ruby or R, go-vcr, HAR, nock, httpmock, WireMock, Datadog test agent'

function exchangeOf(format: ImportFormat, item: unknown, bodyFile?: BodyFile): Interaction | Unreadable {
  if (typeof item === 'object' && item !== null && 'refused' in item) return item as Unreadable
  try {
    const read = format.read(item, bodyFile)
    return { ...read, method: read.method.toUpperCase() }
  } catch (error) {
    return { refused: reasonOf(error, item) }
  }
}

/** Returns the reason in one line; for an invalid exchange, what its first wrong member is. */
function reasonOf(cause: unknown, item?: unknown): string {
  if (!(cause instanceof ZodError))
    return (cause as Error).message.replace(/\s*\n[\s\S]*$/, '').replace(/:$/, '')
  const [first] = cause.issues as [ZodError['issues'][0]]
  const place = first.path.join('.') || 'the exchange'
  const at = (value: unknown, name: PropertyKey) => (value as Record<PropertyKey, unknown> | null)?.[name]
  const found = kindOf(first.path.reduce(at, item))
  return found === 'nothing' ? `${place} is missing` : `${place} is ${found} that does not fit the format`
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`
}

/** Throws a YAMLParseError with line and column. */
function parseYaml(text: string): unknown {
  // Python's reader takes tabs before the next line of a quoted text, which YAML forbids. They are not part of the text.
  return parse(text.replace(/^\t+/gm, ' '.repeat(80)), {
    logLevel: 'error',
    customTags: ['!binary', 'tag:yaml.org,2002:binary'].map((tag) => ({
      tag,
      resolve: (base64: string) => Buffer.from(base64, 'base64'),
    })),
  })
}

/**
 * Bytes above which exchanges are parsed one by one, so that the longest exchange bounds the parser's memory.
 */
const MAX_WHOLE_BYTES = 4 * 2 ** 20
/** Maximum characters of a body: base64, escapes and indentation make it longer than its bytes. */
const MAX_BODY_LENGTH = 1.5 * MAX_IMPORTED_BYTES

/** Returns the items of a list at the top of a document. Throws if there is no such list. */
function yamlList(text: string, name: string): (unknown | Unreadable)[] {
  if (text.length <= MAX_WHOLE_BYTES)
    try {
      const list = (parseYaml(text) as Record<string, unknown> | null)?.[name]
      if (Array.isArray(list)) return list
    } catch {
      // One item is broken, but the other items may be valid.
    }
  const head = new RegExp(`^${name}:[^\\n]*\\n`, 'm').exec(text)
  const list = text.slice(head ? head.index + head[0].length : text.length)
  const indent = /^(?:[ \t]*\r?\n)*( *)- /.exec(list)?.[1]
  if (indent === undefined) throw new Error(`${name}: holds no exchanges`)
  const end = new RegExp(`^(?!${indent}(?:-? )|\\s*$)`, 'm').exec(list)
  const items = list.slice(0, end?.index ?? list.length)
  const starts = Array.from(items.matchAll(new RegExp(`^${indent}- `, 'gm')), ({ index }) => index)
  return starts.map((start, i) => yamlPiece(items.slice(start, starts[i + 1]), true))
}

/** Parses the documents of one file separately. */
const yamlDocuments = (text: string): (unknown | Unreadable)[] =>
  text
    .split(/^---[ \t]*\r?$/m)
    .filter((piece) => piece.trim() !== '')
    .map((piece) => yamlPiece(piece, false))

function yamlPiece(text: string, item: boolean): unknown | Unreadable {
  if (text.length > MAX_BODY_LENGTH)
    return {
      refused: `it has more than ${MAX_IMPORTED_BYTES / 2 ** 20} MiB; such an exchange is not imported`,
    }
  try {
    const value = parseYaml(text)
    return item ? (value as unknown[])[0] : value
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n')
    return { refused: `is not YAML: ${line.replace(/ at line \d+, column \d+:?$/, '')}` }
  }
}

export const vcrpy: ImportFormat = {
  name: 'vcrpy',
  read: readVcr,
  cut: (text) => (/^version: *\d/m.test(text) ? null : 'its last line, the version, is missing'),
}

export const rubyVcr: ImportFormat = {
  name: 'Ruby VCR',
  read: readVcr,
  cut: (text) => (/^recorded_with: *\S/m.test(text) ? null : 'its last line, recorded_with, is missing'),
}

const rVcr: ImportFormat = { ...rubyVcr, name: 'R vcr' }

const exchange = z.object({
  request: z.object({
    method: z.string().transform((method) => method || 'GET'),
    url: z.string(),
    body,
    headers: headerLists,
  }),
  response: z.object({ code: z.int(), headers: headerLists, body }),
})

export const goVcr: ImportFormat = {
  name: 'go-vcr',
  read(item) {
    const { request, response } = exchange.parse(item)
    return interactionOf(request.url, request, response, response.code)
  },
  /** Each exchange ends with its duration and a line break. */
  cut: (text, last) =>
    !text.endsWith('\n')
      ? 'its last line does not end'
      : last === undefined // a test that made no request
        ? null
        : z
              .object({
                response: z.object({ duration: z.unknown().refine((value) => value !== undefined) }),
              })
              .safeParse(last).success
          ? null
          : 'the duration of its last exchange is missing',
}
