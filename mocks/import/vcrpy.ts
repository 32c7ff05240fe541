// Cassettes of vcrpy (Python), version 1: YAML or JSON, bodies as they came over the wire.
import { z } from 'zod'
import { body, headerLists, requestText, responseBytes } from './cassette.ts'
import { address, headersFromLists, type ImportFormat } from './interaction.ts'

const exchange = z.object({
  request: z.object({ method: z.string(), uri: z.string(), body, headers: headerLists }),
  response: z.object({
    status: z.object({ code: z.int() }),
    headers: headerLists,
    body: z.custom((value) => value !== undefined, 'is missing').pipe(body),
  }),
})

export const vcrpy: ImportFormat = {
  name: 'vcrpy',
  read(item) {
    const { request, response } = exchange.parse(item)
    const requestHeaders = headersFromLists(request.headers)
    const responseHeaders = headersFromLists(response.headers)
    return {
      ...address(request.uri),
      method: request.method,
      requestHeaders,
      requestBody: requestText(request.body, requestHeaders),
      status: response.status.code,
      responseHeaders,
      responseBody: responseBytes(response.body, responseHeaders),
    }
  },
  cut: (text) => (/^version: *\d/m.test(text) ? null : 'its last line, the version, is missing'),
}
