// Mappings of WireMock: JSON, one mapping or a list. They seldom name a host, so the user names the provider at import.
import { z } from 'zod'
import { decompress, refuseLarge } from './decode.ts'
import { address, type ImportFormat } from './interaction.ts'

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

const exchange = z.object({
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

export const wireMock: ImportFormat = {
  name: 'WireMock',
  read(item) {
    const { request, response } = exchange.parse(item)
    const path = request.url ?? request.urlPath
    if (!path) throw new Error('its address is a pattern; give the mapping a url or urlPath')
    if (response.bodyFileName)
      throw new Error(`its body is in the file ${response.bodyFileName}; put it into the mapping as body`)
    const query = new URLSearchParams(request.queryParameters)
    const url = `${path}${query.size > 0 ? `${path.includes('?') ? '&' : '?'}${query}` : ''}`
    const { jsonBody, base64Body, body = '' } = response
    const said = jsonBody === undefined ? (body ?? '') : JSON.stringify(jsonBody)
    refuseLarge(said.length)
    const responseHeaders = lowerCase(Object.entries(response.headers))
    return {
      ...address(`${request.host ?? ''}${url}`),
      url: request.host ? `https://${request.host}${url}` : url,
      method: request.method === 'ANY' ? 'POST' : request.method,
      requestHeaders: lowerCase(request.headers),
      requestBody: request.bodyPatterns,
      status: response.status,
      responseHeaders,
      responseBody: decompress(
        base64Body ? Buffer.from(base64Body, 'base64') : Buffer.from(said),
        responseHeaders,
      ),
    }
  },
  cut: () => null, // a truncated file is not valid JSON
}
