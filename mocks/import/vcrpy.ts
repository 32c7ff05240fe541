// Cassettes of vcrpy (Python), version 1: YAML, bodies as they came over the wire.
import { z } from 'zod'
import { address, headersFromLists, type Interaction, plain } from './interaction.ts'
import { body, headerLists, parseYaml, toBytes, toText } from './yaml.ts'

const cassette = z.object({
  interactions: z.array(
    z.object({
      request: z.object({ method: z.string(), uri: z.string(), body: body.nullish(), headers: headerLists }),
      response: z.object({
        status: z.object({ code: z.int() }),
        headers: headerLists,
        body: z.object({ string: body }),
      }),
    }),
  ),
})

/** Throws when the text is not such a cassette, with the path of what does not fit. */
export function readVcrpy(text: string): Interaction[] {
  return cassette.parse(parseYaml(text)).interactions.map(({ request, response }) => ({
    ...address(request.uri),
    method: request.method,
    requestHeaders: headersFromLists(request.headers),
    requestBody: request.body ? toText(request.body) : null,
    status: response.status.code,
    responseHeaders: headersFromLists(response.headers),
    responseBody: plain(toBytes(response.body.string)),
  }))
}
