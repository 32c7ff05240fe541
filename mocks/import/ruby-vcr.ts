// Cassettes of VCR (Ruby): YAML, methods in lower case, addresses that may hold a project's placeholders.
import { z } from 'zod'
import { address, headersFromLists, type Interaction, plain } from './interaction.ts'
import { body, headerLists, parseYaml, toBytes, toText } from './yaml.ts'

const cassette = z.object({
  http_interactions: z.array(
    z.object({
      request: z.object({
        method: z.string(),
        uri: z.string(),
        body: z.object({ string: body }).nullish(),
        headers: headerLists,
      }),
      response: z.object({
        status: z.object({ code: z.int() }),
        headers: headerLists,
        body: z.object({ string: body.nullish() }),
      }),
    }),
  ),
})

/** Throws when the text is not such a cassette, with the path of what does not fit. */
export function readRubyVcr(text: string): Interaction[] {
  return cassette.parse(parseYaml(text)).http_interactions.map(({ request, response }) => ({
    ...address(request.uri),
    method: request.method.toUpperCase(),
    requestHeaders: headersFromLists(request.headers),
    requestBody: request.body?.string ? toText(request.body.string) : null,
    status: response.status.code,
    responseHeaders: headersFromLists(response.headers),
    responseBody: plain(toBytes(response.body.string ?? '')),
  }))
}
