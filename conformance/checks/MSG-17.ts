// MSG-17: Images and documents in tool results are never turned into text for a model of another dialect (Waybill:
// they reach it as images and documents, or their loss is named).

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ model: string; what: string }>('a tool returns a file')

/** One white pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
/** First bytes of a PDF document without pages. */
const PAGES = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\ntrailer<</Root 1 0 R>>',
).toString('base64')

const FILES: Readonly<Record<string, { data: string; block: object }>> = {
  image: {
    data: PIXEL,
    block: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
  },
  document: {
    data: PAGES,
    block: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PAGES } },
  },
}

/** Returns all texts in a request that a model reads as words, in each dialect. */
function texts(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /^(text|content|output|arguments|instructions)$/.test(name) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  const named = Array.isArray(value) ? value.map((each) => [name, each] as const) : Object.entries(value)
  return named.flatMap(([key, each]) => texts(each, key))
}

export const imagesInResults = {
  id: 'MSG-17',
  since: 4,
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    const calls = modelsOf(session).flatMap((model) => Object.keys(FILES).map((what) => ({ model, what })))
    for (const { model, what } of calls)
      await session.chat(call.with({ model, what }), {
        model,
        body: {
          tools: [{ name: 'look', input_schema: { type: 'object' } }],
          messages: [
            { role: 'user', content: 'Look.' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: 'toolu_1', content: [FILES[what]!.block] },
                { type: 'text', text: 'What is it? {nonce}' },
              ],
            },
          ],
        },
      })
  },
  judge: ({ evidence, waybill }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      const see = refs(exchange, entry)
      const { data } = FILES[exchange.details.what] ?? FILES.image!
      const asText = texts(entry?.body).some((text) => text.includes(data))
      const arrived = JSON.stringify(entry?.body ?? null).includes(data)
      const named = /tool_result\.media|document/.test(exchange.headers['x-gateway-lossy'] ?? '')
      return [
        finding(
          'image-is-no-text',
          !asText,
          `what the model of "${stepText(exchange)}" reads as words`,
          { expected: 'no bytes of the file', actual: asText ? 'the bytes of the file' : 'none' },
          see,
        ),
        ...(waybill
          ? [
              finding(
                'image-arrives-or-is-named',
                entry !== null && (arrived || named),
                `the file of "${stepText(exchange)}"`,
                {
                  expected: 'at the provider, or named as lost',
                  actual: `${endText(exchange)}, ${arrived ? 'at the provider' : 'not at the provider'}`,
                },
                see,
              ),
            ]
          : []),
      ]
    }),
} satisfies Check
