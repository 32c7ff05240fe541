// FLOW-01: The client gets the provider's deltas, tool calls and finish reasons completely, once and in order.
// (Waybill, within a dialect: the bytes of the events are equal, except for the withheld usage chunk and a masked
// provider key.)
import { isDeepStrictEqual } from 'node:util'
import type { ScriptStep } from '../../mocks/server/script.ts'
import { ref, refs, servedBy } from '../dialects/lookup.ts'
import { dialectOf, readAnswer } from '../dialects/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, type Finding, finding } from '../runner/check.ts'
import { readable, sameAnswer } from './flow.ts'

const steps = {
  call: step<{ scenario: string; stream: boolean }>('call'),
  /** Step of a call; `stream` is the name of a stream in SCRIPTED. */
  scripted: step<{ stream: string }>('scripted stream'),
}

/** Compares the events of both sides, except a usage event that only the gateway requested. */
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
    `the events of "${stepText(exchange)}"`,
    {
      expected: `the ${sent.length} that the provider sent, byte for byte`,
      actual: `${got.length}, ${ok ? 'equal' : 'not equal'}`,
    },
    refs(exchange, entry),
  )
}

/** Maximum duration of an answer of ten thousand events, ms: a gateway may inspect each event. */
const LONG_ANSWER_TIMEOUT_MS = 60_000

/** Returns one chunk of a chat stream. */
const piece = (said: object, index = 0, finish_reason: string | null = null) => ({
  data: {
    id: 'chatcmpl-synthetic',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'synthetic',
    choices: [{ index, delta: said, finish_reason }],
  },
})
const DONE = { data: '[DONE]' }

/**
 * Chat streams in addition to the scenarios: thoughts in providers' own forms, and two interleaved choices.
 */
const SCRIPTED: Readonly<Record<string, { events: ScriptStep[]; body?: object }>> = {
  thoughts: {
    events: [
      piece({ role: 'assistant', reasoning_content: 'first ' }),
      piece({ reasoning_content: 'second' }),
      piece({ content: 'said' }),
      piece({}, 0, 'stop'),
      DONE,
    ],
  },
  'two choices': {
    body: { n: 2 },
    events: [
      piece({ content: 'one' }),
      piece({ content: 'two' }, 1),
      piece({ content: ' more' }),
      piece({ content: ' less' }, 1),
      piece({}, 0, 'stop'),
      piece({}, 1, 'stop'),
      DONE,
    ],
  },
}

/** Number of events in the scenario. */
const EVENT_COUNT = 10_000

/** Checks that each numbered event arrives once and in order, up to the last. */
function inOrder(exchange: Exchange): Finding {
  const numbers = [...readAnswer(exchange).content.matchAll(/\d+/g)].map(Number)
  const broken = numbers.findIndex((number, index) => index > 0 && number !== numbers[index - 1]! + 1)
  const ok = numbers.length === EVENT_COUNT && broken < 0
  return finding(
    'in-order',
    ok,
    `the numbered events of "${stepText(exchange)}"`,
    {
      expected: `${EVENT_COUNT}, each once and in order`,
      actual: `${numbers.length}, ${broken < 0 ? 'in order' : `out of order at ${broken}`}`,
    },
    [ref(exchange)],
  )
}

export const completeOnceInOrder = {
  id: 'FLOW-01',
  timeout: 180_000,
  async exercise(session) {
    for (const scenario of ['plain', 'long', 'tools', 'reasoning', 'finish-length', 'many-events']) {
      for (const stream of [true, false])
        await session.chat(steps.call.with({ scenario, stream }), {
          stream,
          script: [{ scenario }],
          timeout: LONG_ANSWER_TIMEOUT_MS,
        })
    }
    if (session.dialect.name !== 'chat') return
    for (const [stream, { events, body = {} }] of Object.entries(SCRIPTED))
      await session.chat(steps.scripted.with({ stream }), { stream: true, script: [{ events }], body })
  },
  judge: ({ evidence, waybill }) => [
    ...evidence.exchanges
      .filter(({ status }) => status === 200)
      .map((exchange) => readable(evidence, exchange)),
    ...evidence.exchanges
      // The mock does not store bodies above 256 KiB.
      .filter((exchange) => servedBy(evidence, exchange)?.answer.body !== null)
      .map((exchange) => sameAnswer(evidence, exchange)),
    ...steps.call
      .in(evidence)
      .filter(({ details, end }) => details.scenario === 'many-events' && end !== 'timed_out')
      .map(inOrder),
    ...steps.call
      .in(evidence)
      .filter(({ details }) => waybill && details.stream && ['plain', 'tools'].includes(details.scenario))
      .filter((each) => dialectOf(each).name === 'chat') // DIAL-03 covers the other answers
      .map((exchange) => sameBytes(evidence, exchange)),
  ],
} satisfies Check
