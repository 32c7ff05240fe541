// DIAL-07: Reasoning that one model family sealed never reaches another family as signed or encrypted reasoning,
// translated or not.

import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { step, stepText } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ model: string }>('a history with sealed reasoning')

/** Blocks sealed by this dialect's provider family, and blocks sealed by a family without a provider here. */
const SEALS = {
  own: 'c2VhbGVkIGF0IGhvbWU=',
  foreign: Buffer.from('sealed elsewhere').toString('base64'),
}
/** Foreign seal, wrapped in the form that this gateway uses for its clients. */
const carried = `wb1:elsewhere:${SEALS.foreign}`

const histories = {
  messages: {
    messages: [
      { role: 'user', content: 'Think.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'first this', signature: SEALS.own },
          { type: 'thinking', thinking: 'then that', signature: carried },
          { type: 'text', text: 'said' },
        ],
      },
      { role: 'user', content: 'Go on. {nonce}' },
    ],
  },
  responses: {
    store: false,
    input: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: SEALS.own },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: carried },
      { role: 'user', content: 'Go on. {nonce}' },
    ],
  },
}

export const noForeignReasoning = {
  id: 'DIAL-07',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    const body = session.dialect.name === 'responses' ? histories.responses : histories.messages
    for (const model of modelsOf(session)) await session.chat(call.with({ model }), { model, body })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const text = JSON.stringify(entry?.body ?? null)
      const there = Object.entries(SEALS).flatMap(([whose, seal]) => (text.includes(seal) ? [whose] : []))
      const crossed = entry !== null && isCrossed(exchange, entry)
      const allowed = crossed ? [] : ['own']
      return finding(
        'sealed-stays-in-its-family',
        entry !== null && there.join() === allowed.join(),
        `what the provider of "${stepText(exchange)}" got of sealed reasoning`,
        { expected: listed(allowed), actual: entry === null ? 'no provider was asked' : listed(there) },
        refs(exchange, entry),
      )
    }),
} satisfies Check
