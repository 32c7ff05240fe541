// Cassettes of go-vcr, versions 1 and 2: YAML, with bodies that Go's HTTP client decoded before they were
// stored.
import { z } from 'zod'
import { body, headerLists, requestText, responseBytes } from './cassette.ts'
import { address, headersFromLists, type ImportFormat } from './interaction.ts'

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
      : z
            .object({ response: z.object({ duration: z.unknown().refine((value) => value !== undefined) }) })
            .safeParse(last).success
        ? null
        : 'the duration of its last exchange is missing',
}
