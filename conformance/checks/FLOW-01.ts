// FLOW-01: The client gets the provider's deltas, tool calls and finish reasons complete, once, in order (Waybill,
// same dialect: equal event bytes but for the withheld usage chunk and a provider key that is masked).
import { isDeepStrictEqual } from 'node:util'
import type { Step } from '../../mocks/script.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { ref, refs, servedBy } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { DONE, delta } from '../scripted.ts'
import { readable, sameAnswer } from './flow.ts'

/** The events of both sides, the usage event that only the gateway asked for left out. */
function sameBytes(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const events = (body: string) => body.split(/\r?\n\r?\n/).filter((event) => /^data:/m.test(event))
  const withheld = (event: string) => /"choices":\s*\[\]/.test(event) && /"usage":\s*\{/.test(event)
  const [got, sent] = [
    events(exchange.body),
    events(entry?.answer.body ?? '').filter((event) => !withheld(event)),
  ]
  const ok = sent.length > 0 && isDeepStrictEqual(got, sent)
  return finding(
    'same-bytes',
    ok,
    `${exchange.label}: ${got.length} events, the provider sent ${sent.length}; their bytes are ${ok ? 'equal' : 'not equal'}`,
    refs(exchange, entry),
  )
}

/** How long one answer may take, ms: ten thousand events are many for a gateway that looks into each. */
const PATIENCE = 60_000

const piece = (said: object, index = 0, finish_reason: string | null = null) => ({
  data: { ...delta('').data, choices: [{ index, delta: said, finish_reason }] },
})

/** Streams that no scenario has: thoughts as some providers write them, and two choices in turns. */
const SCRIPTED: Readonly<Record<string, Step[]>> = {
  thoughts: [
    piece({ role: 'assistant', reasoning_content: 'first ' }),
    piece({ reasoning_content: 'second' }),
    piece({ content: 'said' }),
    piece({}, 0, 'stop'),
    DONE,
  ],
  'two choices': [
    piece({ content: 'one' }),
    piece({ content: 'two' }, 1),
    piece({ content: ' more' }),
    piece({ content: ' less' }, 1),
    piece({}, 0, 'stop'),
    piece({}, 1, 'stop'),
    DONE,
  ],
}

/** So many events the scenario has. */
const MANY = 10_000

/** Events that carry their number arrive each once and in order, up to the last. */
function inOrder(exchange: Exchange): Finding {
  const numbers = [...readChat(exchange.body).content.matchAll(/\d+/g)].map(Number)
  const broken = numbers.findIndex((number, index) => index > 0 && number !== numbers[index - 1]! + 1)
  const ok = numbers.length === MANY && broken < 0
  return finding(
    'in-order',
    ok,
    `${exchange.label}: ${numbers.length} numbers of ${MANY}, ${broken < 0 ? 'each once and in order' : `out of order at ${broken}`}`,
    [ref(exchange)],
  )
}

export const completeOnceInOrder = {
  id: 'FLOW-01',
  timeout: 180_000,
  async exercise(session) {
    for (const scenario of ['plain', 'long', 'tools', 'reasoning', 'finish-length', 'many-events']) {
      await session.chat(`${scenario}, streamed`, { stream: true, script: [{ scenario }], timeout: PATIENCE })
      await session.chat(scenario, { script: [{ scenario }], timeout: PATIENCE })
    }
    for (const [label, events] of Object.entries(SCRIPTED))
      await session.chat(label, {
        stream: true,
        script: [{ events }],
        body: label.startsWith('two') ? { n: 2 } : {},
      })
  },
  judge: ({ evidence, waybill }) => [
    ...evidence.exchanges
      .filter(({ status }) => status === 200)
      .map((exchange) => readable(evidence, exchange)),
    ...evidence.exchanges
      // Above 256 KiB the witness keeps no copy of what it sent.
      .filter((exchange) => servedBy(evidence, exchange)?.answer.body !== null)
      .map((exchange) => sameAnswer(evidence, exchange)),
    ...evidence.exchanges
      .filter(({ label, end }) => label.startsWith('many-events') && end !== 'timed_out')
      .map(inOrder),
    ...(waybill ? evidence.exchanges.filter(({ label }) => /^(plain|tools), streamed/.test(label)) : []).map(
      (exchange) => sameBytes(evidence, exchange),
    ),
  ],
} satisfies Check
