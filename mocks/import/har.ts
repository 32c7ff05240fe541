// HAR 1.2, as browsers and Polly.js write it.
import { z } from 'zod'
import { address, type Interaction, plain } from './interaction.ts'

const headers = z.array(z.object({ name: z.string(), value: z.string() })).transform((list) => {
  const joined: Record<string, string> = {}
  for (const { name, value } of list) {
    const key = name.toLowerCase()
    joined[key] = key in joined ? `${joined[key]}, ${value}` : value
  }
  return joined
})

const har = z.object({
  log: z.object({
    entries: z.array(
      z.object({
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
      }),
    ),
  }),
})

/** Throws when the text is not a HAR file, with the path of what does not fit. */
export function readHar(text: string): Interaction[] {
  return har.parse(parse(text)).log.entries.map(({ request, response }) => ({
    ...address(request.url),
    method: request.method,
    requestHeaders: request.headers,
    requestBody: request.postData?.text ?? null,
    status: response.status,
    responseHeaders: response.headers,
    responseBody: plain(content(response.content)),
  }))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('is not JSON; export it again') // its own message quotes the file, over several lines
  }
}

/** Polly.js keeps a compressed body as a JSON list of base64 pieces, as they were handed over. */
function content({
  text = '',
  encoding,
}: {
  text?: string | undefined
  encoding?: string | undefined
}): Buffer {
  if (encoding !== 'base64') return Buffer.from(text)
  const pieces = text.startsWith('[') ? z.array(z.string()).parse(JSON.parse(text)) : [text]
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')))
}
