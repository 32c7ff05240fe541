// Recordings of httpmock (Rust): one YAML document for each exchange, with the request to match and the
// answer. Most documents do not name a host, so the user has to name the provider at import.
import { z } from 'zod'
import { decompress, refuseLarge } from './decode.ts'
import { headersFromPairs, type ImportFormat } from './interaction.ts'

const pairs = z
  .array(z.object({ name: z.string(), value: z.unknown().transform((value) => String(value ?? '')) }))
  .nullish()
  .transform((list) => list ?? [])

const exchange = z.object({
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

export const httpmock: ImportFormat = {
  name: 'httpmock',
  read(item) {
    const parsed = exchange.parse(item)
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
    const read = exchange.safeParse(last)
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
