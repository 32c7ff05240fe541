// MSG-17: Images and documents in tool results are never turned into text for a model of another dialect (Waybill:
// they reach it as images and documents, or their loss is named).
import { type Check, finding } from '../check.ts'
import { modelsOf, refs, servedBy } from '../lookup.ts'
import { inWords, step } from '../step.ts'
import { ended } from '../words.ts'

const call = step<{ model: string }>('a tool returns an image')

/** One white pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }

/** Every text in a request that a model reads as words, by the names that dialects give it. */
function texts(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /^(text|content|output|arguments|instructions)$/.test(name) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  const named = Array.isArray(value) ? value.map((each) => [name, each] as const) : Object.entries(value)
  return named.flatMap(([key, each]) => texts(each, key))
}

export const imagesInResults = {
  id: 'MSG-17',
  needs: ['messages'],
  surface: 'messages',
  async exercise(session) {
    for (const model of modelsOf(session))
      await session.chat(call.with({ model }), {
        model,
        body: {
          tools: [{ name: 'look', input_schema: { type: 'object' } }],
          messages: [
            { role: 'user', content: 'Look.' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: 'toolu_1', content: [IMAGE] },
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
      const asText = texts(entry?.body).some((text) => text.includes(PIXEL))
      const arrived = JSON.stringify(entry?.body ?? null).includes(PIXEL)
      const named = (exchange.headers['x-gateway-lossy'] ?? '').includes('tool_result.media')
      return [
        finding(
          'image-is-no-text',
          !asText,
          `what the model of "${inWords(exchange)}" reads as words`,
          { expected: 'no bytes of the image', actual: asText ? 'the bytes of the image' : 'none' },
          see,
        ),
        ...(waybill
          ? [
              finding(
                'image-arrives-or-is-named',
                entry !== null && (arrived || named),
                `the image of "${inWords(exchange)}"`,
                {
                  expected: 'at the provider, or named as lost',
                  actual: `${ended(exchange)}, ${arrived ? 'at the provider' : 'not at the provider'}`,
                },
                see,
              ),
            ]
          : []),
      ]
    }),
} satisfies Check
