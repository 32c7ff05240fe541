// GEM-05: The usage on record counts thoughts both as output and as reasoning. It counts cached tokens both as
// input and separately. In a stream, the last usage report counts.
import { recordIn, refs, requestIdOf, servedBy } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { geminiAnswer, geminiEvent } from './gemini.ts'

const call = step<{ stream: boolean }>('call')

/** Last usage report, and an earlier report that it replaces. */
const LAST = {
  ...{ promptTokenCount: 900, cachedContentTokenCount: 700, candidatesTokenCount: 40 },
  ...{ thoughtsTokenCount: 60, totalTokenCount: 1000 },
}
const FIRST = { promptTokenCount: 900, thoughtsTokenCount: 20, totalTokenCount: 920 }
const ON_RECORD = { input: 900, cached_input: 700, output: 100, reasoning: 60 }

export const thoughtsAreOutput = {
  id: 'GEM-05',
  needs: ['gemini', 'record'],
  dialect: 'gemini',
  async exercise(session) {
    const thought = { ...geminiAnswer([{ text: 'Where to?', thought: true }]), usageMetadata: FIRST }
    const text = { ...geminiAnswer([{ text: 'There.' }], 'STOP'), usageMetadata: LAST }
    const scripts = [
      { stream: false, script: [{ status: 200, body: text }] },
      { stream: true, script: [{ events: [geminiEvent(thought), geminiEvent(text)] }] },
    ]
    for (const { stream, script } of scripts)
      await session.record(await session.chat(call.with({ stream }), { stream, script }))
  },
  judge: ({ evidence, target }) =>
    call.in(evidence).map((exchange) => {
      const reading = recordExchange(evidence, exchange)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const kept = Object.keys(ON_RECORD).map((kind) => [kind, at(record, `/tokens/${kind}`)])
      return finding(
        'kinds-are-kept-apart',
        kept.every(([kind, tokens]) => tokens === ON_RECORD[kind as keyof typeof ON_RECORD]),
        `tokens on record after "${stepText(exchange)}"`,
        { expected: JSON.stringify(ON_RECORD), actual: JSON.stringify(Object.fromEntries(kept)) },
        refs(exchange, reading, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
