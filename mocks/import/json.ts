// Readers of JSON files: HAR 1.2, as browsers and Polly.js write it, nock, httpmock, WireMock and Datadog's test agent.
import { z } from 'zod'
import {
  address,
  type BodyFile,
  decompress,
  headerLists,
  headersFromLists,
  headersFromPairs,
  type ImportFormat,
  MAX_IMPORTED_BYTES,
  readVcr,
  refuseLarge,
} from './interaction.ts'

const headers = z
  .array(z.object({ name: z.string(), value: z.unknown().transform((value) => String(value ?? '')) }))
  .nullish()
  .transform((pairs) => headersFromPairs(pairs ?? []))

const harEntry = z.object({
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers,
    postData: z.object({ text: z.string().optional() }).optional(),
  }),
  response: z.object({
    status: z.int(),
    headers,
    content: z.object({ text: z.string().optional(), encoding: z.string().optional() }),
  }),
})

const har: ImportFormat = {
  name: 'HAR',
  read(item) {
    const { request, response } = harEntry.parse(item)
    const text = request.postData?.text ?? ''
    refuseLarge(text.length)
    return {
      ...address(request.url),
      method: request.method,
      requestHeaders: request.headers,
      requestBody: text || null,
      status: response.status,
      responseHeaders: response.headers,
      responseBody: decompress(content(response.content), response.headers),
    }
  },
  cut: () => null, // a truncated file is not valid JSON
}

/** Polly.js stores a compressed body as a JSON list of base64 pieces, one for each chunk received. */
function content({
  text = '',
  encoding,
}: {
  text?: string | undefined
  encoding?: string | undefined
}): Buffer {
  refuseLarge(encoding === 'base64' ? Math.min(text.length * 0.7, MAX_IMPORTED_BYTES + 1) : text.length)
  if (encoding !== 'base64') return Buffer.from(text)
  return Buffer.concat(pieces(text).map((piece) => Buffer.from(piece, 'base64')))
}

function pieces(text: string): string[] {
  if (!text.startsWith('[')) return [text]
  const list = z.array(z.string()).safeParse(JSON.parse(text))
  if (!list.success) throw new Error('response.content.text is not a list of base64 pieces')
  return list.data
}

const nockCall = z.object({
  scope: z.string(),
  method: z.string(),
  path: z.string(),
  body: z.unknown().optional(),
  reqheaders: headerLists,
  status: z.int().default(200),
  response: z.unknown().optional(),
  responseIsBinary: z.boolean().default(false),
  rawHeaders: z
    .union([
      z.array(z.string()).transform((flat) => {
        const pairs = flat.flatMap((name, i) => (i % 2 === 0 ? [{ name, value: flat[i + 1] ?? '' }] : []))
        return headersFromPairs(pairs)
      }),
      headerLists.transform(headersFromLists),
    ])
    .optional(),
  /** As people write it */
  headers: headerLists,
})

const nock: ImportFormat = {
  name: 'nock',
  read(item) {
    const call = nockCall.parse(item)
    const { body, response, rawHeaders: responseHeaders = headersFromLists(call.headers) } = call
    const at = address(call.scope.replace(/:443$/, '') + call.path)
    return {
      ...at,
      method: call.method,
      requestHeaders: headersFromLists(call.reqheaders),
      requestBody: textOf(body) || null,
      status: call.status,
      responseHeaders,
      responseBody: decompress(nockBody(response, call.responseIsBinary, responseHeaders), responseHeaders),
    }
  },
  cut: () => null, // a truncated file is not valid JSON
}

/** nock writes JSON as values, a body of bytes as one text in hexadecimal, and a compressed one as a list of these. */
function nockBody(response: unknown, isBinary: boolean, headers: Readonly<Record<string, string>>): Buffer {
  const pieces =
    'content-encoding' in headers ? z.array(z.string().regex(/^[\da-f]*$/i)).safeParse(response) : null
  const text = pieces?.success ? pieces.data.join('') : textOf(response)
  refuseLarge(text.length)
  return Buffer.from(text, pieces?.success || isBinary ? 'hex' : 'utf8')
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

const testAgent: ImportFormat = {
  name: 'Datadog test agent',
  read(item) {
    const { request, response } = item as { request: { url: string }; response: unknown }
    return readVcr({ request: { ...request, uri: request.url }, response })
  },
  cut: () => null, // a truncated file is not valid JSON
}

const pairs = z
  .array(z.object({ name: z.string(), value: z.unknown().transform((value) => String(value ?? '')) }))
  .nullish()
  .transform((list) => list ?? [])

const httpmockExchange = z.object({
  when: z.object({
    host: z.string().nullish(),
    path: z.string(),
    method: z.string().nullish(),
    query_param: pairs,
    header: pairs,
    body: z.string().nullish(),
  }),
  // biome-ignore lint/suspicious/noThenProperty: the format's own name
  then: z.object({
    status: z.int(),
    header: pairs,
    body: z.string().nullish(),
    body_base64: z.string().nullish(),
  }),
})

const httpmock: ImportFormat = {
  name: 'httpmock',
  read(item) {
    const parsed = httpmockExchange.parse(item)
    const { when, then: answer } = parsed
    const responseHeaders = headersFromPairs(answer.header)
    const query = new URLSearchParams(
      when.query_param.map(({ name, value }): [string, string] => [name, value]),
    )
    const text = answer.body ?? ''
    refuseLarge(text.length)
    const bytes = answer.body_base64 ? Buffer.from(answer.body_base64, 'base64') : Buffer.from(text)
    return {
      url: `${when.path}${query.size > 0 ? `?${query}` : ''}`,
      host: when.host ?? '',
      path: when.path,
      method: when.method ?? 'GET',
      requestHeaders: headersFromPairs(when.header),
      requestBody: when.body || null,
      status: answer.status,
      responseHeaders,
      responseBody: decompress(bytes, responseHeaders),
    }
  },
  /** The body comes last without an end mark, so only its syntax shows that it is complete. */
  cut(text, last) {
    if (!text.endsWith('\n')) return 'its last line does not end'
    const read = httpmockExchange.safeParse(last)
    if (!read.success) return null
    const { header, body, body_base64 } = read.data.then
    if (!body && !body_base64) return 'its last answer has no body'
    const type = headersFromPairs(header)['content-type'] ?? ''
    if (/event-stream/.test(type)) return /\n\r?\n$/.test(body ?? '') ? null : 'its last event does not end'
    return /json/.test(type) && body && !isJson(body) ? 'the JSON of its last answer does not end' : null
  },
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Test of a text: the text itself, or an object whose member holds it. */
const text = z
  .union([
    z.string(),
    z.object({ equalTo: z.unknown() }).transform(({ equalTo }) => String(equalTo)),
    z
      .object({ equalToJson: z.unknown() })
      .transform(({ equalToJson: json }) => (typeof json === 'string' ? json : JSON.stringify(json))),
    z.looseObject({}).transform(() => null), // a pattern
  ])
  .nullish()
  .transform((value) => value ?? null)
const texts = z
  .record(z.string(), text)
  .nullish()
  .transform((found) =>
    Object.entries(found ?? {}).filter((pair): pair is [string, string] => pair[1] !== null),
  )

const wiremockMapping = z.object({
  request: z.object({
    method: z.string().default('POST'),
    host: text,
    url: z.string().nullish(),
    urlPath: z.string().nullish(),
    headers: texts,
    queryParameters: texts,
    bodyPatterns: z
      .array(text)
      .nullish()
      .transform((patterns) => patterns?.find((one) => one !== null) ?? null),
  }),
  response: z.object({
    status: z.int().default(200),
    headers: z
      .record(z.string(), z.unknown())
      .nullish()
      .transform((found) => found ?? {}),
    body: z.string().nullish(),
    jsonBody: z.unknown().optional(),
    base64Body: z.string().nullish(),
    bodyFileName: z.string().nullish(),
  }),
})

const lowerCase = (pairs: Iterable<[string, unknown]>): Record<string, string> =>
  Object.fromEntries(
    Array.from(pairs, ([name, value]) => [name.toLowerCase(), [value].flat().map(String).join(', ')]),
  )

const wireMock: ImportFormat = {
  name: 'WireMock',
  read(item, bodyFile) {
    const { request, response } = wiremockMapping.parse(item)
    const path = request.url ?? request.urlPath
    if (!path) throw new Error('its address is a pattern; give the mapping a url or urlPath')
    const query = new URLSearchParams(request.queryParameters)
    const url = `${path}${query.size > 0 ? `${path.includes('?') ? '&' : '?'}${query}` : ''}`
    const responseHeaders = lowerCase(Object.entries(response.headers))
    return {
      ...address(`${request.host ?? ''}${url}`),
      url: request.host ? `https://${request.host}${url}` : url,
      method: request.method === 'ANY' ? 'POST' : request.method,
      requestHeaders: lowerCase(request.headers),
      requestBody: request.bodyPatterns,
      status: response.status,
      responseHeaders,
      responseBody: decompress(wiremockBody(response, bodyFile), responseHeaders),
    }
  },
  cut: () => null, // a truncated file is not valid JSON
}

function wiremockBody(
  { jsonBody, base64Body, body, bodyFileName }: z.infer<typeof wiremockMapping>['response'],
  bodyFile: BodyFile | undefined,
): Buffer {
  if (bodyFileName) {
    if (!bodyFile) throw new Error(`its body is in the file ${bodyFileName}; put it into the mapping as body`)
    return bodyFile(bodyFileName)
  }
  const said = jsonBody === undefined ? (body ?? '') : JSON.stringify(jsonBody)
  refuseLarge(said.length)
  return base64Body ? Buffer.from(base64Body, 'base64') : Buffer.from(said)
}

export const jsonFormats = { har, nock, httpmock, wireMock, testAgent }
