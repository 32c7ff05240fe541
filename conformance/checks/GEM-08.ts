// GEM-08: `countTokens` causes no inference. If the gateway counts tokens, the count comes from a provider that can
// count, or is an estimate that includes all kinds of parts and the tools (Waybill: it is marked as an estimate,
// and makes no record).
import { writeNonce } from '../../mocks/ledger.ts'
import { ref, refs } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { absent, type Check, finding } from '../runner/check.ts'
import { isNotOffered } from './server.ts'

const count = step<{ about: string }>('count')

const LONG = 'A way that is told at length. '.repeat(40)

/** Requests with the same text. `little` is the smallest; each other request adds content. */
const bodies = (model: string, text: string): Readonly<Record<string, object>> => {
  const contents = [{ role: 'user', parts: [{ text }] }]
  const all = (more: object) => ({ generateContentRequest: { model: `models/${model}`, contents, ...more } })
  return {
    little: { contents },
    'a long text': { contents: [{ role: 'user', parts: [{ text }, { text: LONG }] }] },
    'a call and its result': {
      contents: [
        ...contents,
        { role: 'model', parts: [{ functionCall: { name: 'look_up', args: { way: LONG } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look_up', response: { told: LONG } } }] },
      ],
    },
    'an instruction': all({ systemInstruction: { parts: [{ text: LONG }] } }),
    'a tool': all({ tools: [{ functionDeclarations: [{ name: 'look_up', description: LONG }] }] }),
  }
}

export const geminiCounts = {
  id: 'GEM-08',
  needs: ['gemini'],
  dialect: 'gemini',
  async exercise(session) {
    const text = `Count. ${writeNonce(session.nonce())}`
    for (const [about, body] of Object.entries(bodies(session.model, text)))
      await session.ask(count.with({ about }), `/v1beta/models/${session.model}:countTokens`, {
        ...{ method: 'POST', headers: session.callHeaders, body: JSON.stringify(body) },
      })
    await session.drain()
  },
  judge({ evidence }) {
    const asked = count.in(evidence)
    const spent = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const never = finding(
      'counts-never-spend',
      spent.length === 0,
      `inferences while tokens were counted ${asked.length} times`,
      { expected: 'none', actual: String(spent.length) },
      [...asked.slice(0, 1), ...spent].map(ref),
    )
    if (asked.every(isNotOffered))
      return [absent('is-counted', 'It does not count tokens.', asked.map(ref)), ...(never.ok ? [] : [never])]
    // A gateway is not responsible for a provider's count.
    const isEstimated = evidence.ledger.every(({ kind }) => kind !== 'token_count')
    const tokensOf = (body: string) => at(jsonOf(body), '/totalTokens')
    const least = Number(tokensOf(asked[0]!.body))
    return [
      never,
      ...asked.map((exchange) => {
        const tokens = tokensOf(exchange.body)
        const isMore = exchange === asked[0] || !isEstimated || (tokens as number) > least
        return finding(
          'is-counted',
          exchange.status === 200 && Number.isInteger(tokens) && (tokens as number) > 0 && isMore,
          `the answer to "${stepText(exchange)}"`,
          {
            expected: `200 with totalTokens${exchange === asked[0] ? '' : ` above ${least}`}`,
            actual: `${endText(exchange)}, ${tokens ?? 'no totalTokens'}`,
          },
          refs(exchange),
        )
      }),
    ]
  },
} satisfies Check
