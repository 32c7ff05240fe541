// Cassettes of go-vcr, version 2: YAML, bodies decoded by Go's HTTP client before they were kept.
import { z } from 'zod'
import { address, headersFromLists, type Interaction, plain } from './interaction.ts'
import { body, headerLists, parseYaml, toBytes, toText } from './yaml.ts'

const cassette = z.object({
  version: z.literal(2),
  interactions: z.array(
    z.object({
      request: z.object({ method: z.string(), url: z.string(), body: body.nullish(), headers: headerLists }),
      response: z.object({ code: z.int(), headers: headerLists, body: body.nullish() }),
    }),
  ),
})

/** Throws when the text is not such a cassette, with the path of what does not fit. */
export function readGoVcr(text: string): Interaction[] {
  return cassette.parse(parseYaml(text)).interactions.map(({ request, response }) => ({
    ...address(request.url),
    method: request.method,
    requestHeaders: headersFromLists(request.headers),
    requestBody: request.body ? toText(request.body) : null,
    status: response.code,
    responseHeaders: headersFromLists(response.headers),
    responseBody: plain(toBytes(response.body ?? '')),
  }))
}
