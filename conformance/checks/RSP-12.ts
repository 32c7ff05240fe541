// RSP-12: A call with a `compaction_trigger` goes to a provider of this dialect or gets 400. Otherwise its client
// would mistake an ordinary answer for the compacted history.

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed, providerDialectOf } from '../dialects/registry.ts'
import { type AnyJson, at } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ model: string }>('call')

export const compactionIsNative = {
  id: 'RSP-12',
  needs: ['responses'],
  dialect: 'responses',
  async exercise(session) {
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on. {nonce}' }] },
      { type: 'compaction_trigger' },
    ]
    for (const model of modelsOf(session))
      await session.chat(call.with({ model }), { model, body: { input } })
  },
  judge: ({ evidence, waybill }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const { status } = exchange
      const refused = status !== null && (waybill ? status === 400 : status >= 400 && status < 500)
      const input = at(entry?.body, '/input')
      const arrived =
        entry !== null &&
        !isCrossed(exchange, entry) &&
        Array.isArray(input) &&
        input.some((item: AnyJson) => item?.type === 'compaction_trigger')
      return finding(
        'compaction-is-native-or-refused',
        entry === null ? refused : arrived,
        `what became of a compaction_trigger in "${stepText(exchange)}"`,
        {
          expected: 'it reaches a provider that speaks responses, or the call is refused',
          actual: `${endText(exchange)}; ${entry ? `a provider was asked in ${providerDialectOf(entry).name} ${arrived ? 'with' : 'without'} it` : 'no provider was asked'}`,
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
