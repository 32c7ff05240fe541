// GEM-02: The model is read from the path, with slashes encoded or not. The body, the rest of the query and unknown
// `x-goog-*` headers reach the target's model unchanged.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy, where } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ model: string; spelling: string; stream: boolean }>('call')

/** Members of current requests, and one unknown member. */
const BODY = {
  systemInstruction: { parts: [{ text: 'Answer in one word.' }] },
  generationConfig: {
    ...{ temperature: 0.25, topP: 0.5, maxOutputTokens: 64, stopSequences: ['END'], seed: 7 },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 128 },
  },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_ONLY_HIGH' }],
  tools: [
    {
      functionDeclarations: [
        {
          name: 'look_up',
          description: 'Looks up.',
          parametersJsonSchema: { type: 'object', properties: {} },
        },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  waybillProbe: { kept: true },
}
const HEADERS = { 'x-goog-waybill-probe': 'kept', 'x-goog-api-client': 'genai-js/0' }
const QUERY = 'waybillProbe=kept'

export const modelInPath = {
  id: 'GEM-02',
  needs: ['gemini', 'direct'],
  dialect: 'gemini',
  relays: true,
  async exercise(session) {
    const { pathOf } = session.dialect
    for (const { id } of session.target.models.direct)
      for (const stream of [false, true])
        for (const [spelling, model] of Object.entries({ plain: id, encoded: encodeURIComponent(id) }))
          if (spelling === 'plain' || model !== id)
            await session.chat(call.with({ model: id, spelling, stream }), {
              ...{ stream, model: id, body: BODY, headers: HEADERS, query: `?${QUERY}` },
              path: pathOf!({ model, stream, prompt: '', body: {} }),
              script: [{ scenario: 'plain' }],
            })
  },
  judge: ({ evidence, target }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const wanted = target.dialects.gemini!.models!.direct.find(({ id }) => id === exchange.details.model)!
      const see = refs(exchange, entry)
      const what = `"${stepText(exchange)}"`
      const goal = finding(
        'model-from-the-path',
        entry !== null && where(entry) === where(wanted),
        `the model that ${what} reached`,
        { expected: where(wanted), actual: entry ? where(entry) : `none: ${endText(exchange)}` },
        see,
      )
      if (!entry) return [goal]
      const sent = jsonOf(exchange.request.body ?? '')
      const lost = Object.entries(HEADERS).flatMap(([name, value]) =>
        name.includes('probe') && entry.headers[name] !== value ? name : [],
      )
      return [
        goal,
        finding(
          'body-is-unchanged',
          isDeepStrictEqual(entry.body, sent),
          `the body of ${what}`,
          { expected: JSON.stringify(sent), actual: JSON.stringify(entry.body) },
          see,
        ),
        finding(
          'query-arrives',
          entry.query.split('&').includes(QUERY),
          `the query of ${what}`,
          { expected: QUERY, actual: entry.query || 'none' },
          see,
        ),
        finding(
          'headers-arrive',
          lost.length === 0,
          `headers of ${what} that did not arrive`,
          { expected: 'none', actual: lost.join(', ') || 'none' },
          see,
        ),
      ]
    }),
} satisfies Check
