// HAR 1.2, as browsers and Polly.js write it.
import { z } from 'zod'
import { decompress, MAX_IMPORTED_BYTES, refuseLarge } from './decode.ts'
import { address, headersFromPairs, type ImportFormat } from './interaction.ts'

const headers = z
  .array(z.object({ name: z.string(), value: z.unknown().transform((value) => String(value ?? '')) }))
  .nullish()
  .transform((pairs) => headersFromPairs(pairs ?? []))

const exchange = z.object({
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

export const har: ImportFormat = {
  name: 'HAR',
  read(item) {
    const { request, response } = exchange.parse(item)
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
