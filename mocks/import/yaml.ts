// Readers of YAML files: VCR for Python, Ruby and Go.
import { parse } from 'yaml'
import { z } from 'zod'
import {
  address,
  body,
  headerLists,
  headersFromLists,
  type ImportFormat,
  MAX_IMPORTED_BYTES,
  readVcr,
  requestText,
  responseBytes,
  type Unreadable,
} from './interaction.ts'

/** Throws a YAMLParseError with line and column. */
export function parseYaml(text: string): unknown {
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
export function yamlList(text: string, name: string): (unknown | Unreadable)[] {
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
export const yamlDocuments = (text: string): (unknown | Unreadable)[] =>
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

export const rVcr: ImportFormat = { ...rubyVcr, name: 'R vcr' }

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
    const requestHeaders = headersFromLists(request.headers)
    const responseHeaders = headersFromLists(response.headers)
    return {
      ...address(request.url),
      method: request.method,
      requestHeaders,
      requestBody: requestText(request.body, requestHeaders),
      status: response.code,
      responseHeaders,
      responseBody: responseBytes(response.body, responseHeaders),
    }
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
