// CNT-02: A token count comes from a provider that can count, or is an estimate that includes all kinds of blocks
// and the tools (Waybill: it is marked as an estimate).
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { modelsOf, refs } from '../dialects/lookup.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const count = step<{ model: string; beside: string }>('count')

const WORDS = 'many words of many kinds '.repeat(40)
/** Long texts that are added to a short prompt. */
const BESIDE: Readonly<Record<string, object>> = {
  nothing: {},
  'a system prompt': { system: WORDS },
  'a tool': { tools: [{ name: 'look', description: WORDS, input_schema: { type: 'object' } }] },
  'a result': {
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: WORDS }] },
    ],
  },
}
/** Minimum number of tokens in an added text, because each added text has at least this many words. */
const MIN_ADDED_TOKENS = 40
/** Count that the counting provider reports. */
const PROVIDER_COUNT = 4711

const numberIn = ({ body }: Exchange): number => Number(at(jsonOf(body), '/input_tokens'))

/** Returns the provider's token-count request. */
const provided = ({ ledger }: Evidence, { request }: Exchange) =>
  ledger.find(
    ({ kind, nonce, answer }) =>
      kind === 'token_count' && nonce === nonceIn(request.body ?? '') && answer.status === 200,
  )

export const countsAreRight = {
  id: 'CNT-02',
  needs: ['counts'],
  dialect: 'messages',
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const [beside, more] of Object.entries(BESIDE)) {
        const nonce = session.nonce()
        await session.mock.script(nonce, [{ kind: 'token_count', body: { input_tokens: PROVIDER_COUNT } }])
        const asked = { role: 'user', content: `Count. ${writeNonce(nonce)}` }
        const messages = 'messages' in more ? [asked, ...(more.messages as object[])] : [asked]
        await session.ask(count.with({ model, beside }), '/v1/messages/count_tokens', {
          method: 'POST',
          headers: session.callHeaders,
          body: JSON.stringify({ model, ...more, messages }),
        })
      }
  },
  judge: ({ evidence, waybill }) =>
    count.in(evidence).map((exchange) => {
      const entry = provided(evidence, exchange)
      const got = numberIn(exchange)
      const { model, beside } = exchange.details
      const plain = count
        .in(evidence)
        .find(({ details }) => details.model === model && details.beside === 'nothing')!
      const least = beside === 'nothing' ? 1 : numberIn(plain) + MIN_ADDED_TOKENS
      const mark = exchange.headers['x-gateway-token-count']
      const marked = !waybill || mark === (entry ? 'provider' : 'estimated')
      return finding(
        entry ? 'as-the-provider-counts' : 'estimate-holds-all',
        exchange.status === 200 && (entry ? got === PROVIDER_COUNT : got >= least) && marked,
        `the tokens of "${stepText(exchange)}"`,
        {
          expected: `${entry ? `${PROVIDER_COUNT}, as the provider said` : `${least} or more`}${waybill ? ', and marked so' : ''}`,
          actual: `${endText(exchange)}, ${got}${waybill ? `, marked ${mark ?? 'by nothing'}` : ''}`,
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
