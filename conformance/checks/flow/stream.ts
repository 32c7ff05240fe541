// Checks of streams: complete, in order, at once, and broken off.
import { isDeepStrictEqual } from 'node:util'
import type { ScriptStep } from '../../../mocks/server/script.ts'
import { delta, END } from '../../dialects/dialect.ts'
import {
  dialectOf,
  everyModel,
  readAnswer,
  recordIn,
  ref,
  refs,
  requestIdOf,
  servedBy,
} from '../../dialects/lookup.ts'
import {
  difference,
  type Evidence,
  type Exchange,
  recordExchange,
  size,
  step,
  stepText,
} from '../../evidence/evidence.ts'
import { at } from '../../evidence/reading.ts'
import { doubt, each, type Finding, family, finding, type Told } from '../check.ts'
import { hasError } from '../log/parts.ts'
import {
  EVENT_TIMEOUT_MS,
  heldBack,
  isVisible,
  noteHeldBack,
  ordinaryCall,
  pace,
  readable,
  sameAnswer,
  saysInTime,
} from './parts.ts'

const check = family()

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
      actual: `${got.length}, ${ok ? 'equal' : difference(got.join('\n\n'), sent.join('\n\n'))}`,
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

check('FLOW-01', {
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
    evidence.exchanges
      .filter(({ status }) => status === 200)
      .map((exchange): Told => readable(evidence, exchange)),
    evidence.exchanges
      // The mock does not store bodies above 256 KiB.
      .filter((exchange) => servedBy(evidence, exchange)?.answer.body !== null)
      .map((exchange): Told => sameAnswer(evidence, exchange)),
    ...steps.call
      .in(evidence)
      .filter(({ details, end }) => details.scenario === 'many-events' && end !== 'timed_out')
      .map(inOrder),
    steps.call
      .in(evidence)
      .filter(({ details }) => waybill && details.stream && ['plain', 'tools'].includes(details.scenario))
      .filter((each) => dialectOf(each).name === 'chat') // DIAL-03 covers the other answers
      .map((exchange): Told => sameBytes(evidence, exchange)),
  ],
})

const heldCall = step<{ model: string }>('held')

const HELD = 4

const held = (index: number): string => `held-${index};`
/** Returns the name of the mark for the time at which the gate behind an event opened. */
const released = (model: string, index: number): string => `released_${index}_${model}`

/** Returns the part of a body that had arrived by the given time. */
function bodyBy({ body, chunks }: Exchange, moment: number): string {
  const bytes = chunks.reduce((sum, [size, at]) => (at <= moment ? sum + size : sum), 0)
  return Buffer.from(body).subarray(0, bytes).toString('utf8')
}

check('FLOW-03', {
  since: 4,
  timeout: 120_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gates = Array.from({ length: HELD }, () => session.nonce())
      const events = gates.flatMap((gate, index) => [delta(held(index)), { gate }])
      const script = [{ events: [...events, END] }]
      const call = await session.openChat(heldCall.with({ model }), {
        ...{ model, stream: true, script },
        timeout: 60_000,
      })
      for (const [index, gate] of gates.entries()) {
        // Compares the meaning, because a gateway may split the text differently.
        await saysInTime(session, call, held(index))
        session.mark(released(model, index))
        await session.mock.release(gate)
      }
      await call.done
    }
  },
  judge: each(heldCall, ({ exchange, details, quoted, evidence }) =>
    Array.from({ length: HELD }, (_, index) => {
      const ok = dialectOf(exchange)
        .read(bodyBy(exchange, evidence.marks[released(details.model, index)]!))
        .content.includes(held(index))
      return finding(
        'event-arrives-at-once',
        ok,
        `event ${index + 1} of ${quoted}, while the provider held back the next one`,
        {
          expected: `at the client within ${EVENT_TIMEOUT_MS / 1000} s, or while the gateway answers other calls`,
          actual: ok ? 'it was' : 'it was not',
        },
        [ref(exchange)],
      )
    }),
  ),
})

const left = step<{ model: string }>('left')

/** Maximum difference between the clocks of client and mock on one machine, ms. */
const MAX_CLOCK_SKEW_MS = 250

check('FLOW-05', {
  timeout: 90_000,
  hostile: true,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      const call = await session.openChat(left.with({ model }), {
        ...{ model, stream: true, script: [{ events: [delta('one'), { gate }, END] }] },
      })
      await call.says('one')
      call.leave()
      await call.done
      // Waits until the ledger reports the end of the request that served the call, at most for the longer
      // limit.
      for (let waited = 0; waited < 5_500; waited += 50) {
        if (servedBy(await session.soFar(), call)?.peer_left_at != null) break
        await session.wait(50)
      }
      await session.mock.release(gate)
      await ordinaryCall(session)
    }
  },
  judge: each(left, ({ exchange, entry, quoted, evidence, waybill }) => {
    const left = entry?.peer_left_at ?? null
    const ms = left === null ? null : Math.round(left - exchange.end_at)
    const limit = Math.round((waybill ? 1_000 : 5_000) + pace(evidence))
    return {
      'stream-is-closed': [
        ms !== null && ms <= limit && ms >= -MAX_CLOCK_SKEW_MS,
        `when the provider's stream was closed in ${quoted}`,
        `at most ${limit} ms after the client had left, and not before`,
        ms === null ? 'not closed' : `${ms} ms after`,
      ],
    }
  }),
})

const lateError = step<{ model: string }>('error after the response start')

check('FLOW-09', {
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    for (const model of everyModel(session)) {
      const gate = session.nonce()
      // The provider fails only after the client has the first event: before that, a gateway may still fall
      // back.
      const events = [delta('one'), { gate }, { failure: 'synthetic' }]
      const call = await session.openChat(lateError.with({ model }), {
        ...{ model, stream: true, script: [{ events }] },
      })
      const begun = await call.says('one')
      await session.mock.release(gate)
      const exchange = await call.done
      if (!begun && (await session.mock.seen(call.nonce, 1))) noteHeldBack(session, exchange)
      await session.record(exchange)
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: each(lateError, ({ exchange, entry, quoted, evidence, target }) => {
    const open = heldBack('error-is-visible', evidence, exchange)
    if (open) return [open]
    const visible = finding(
      'error-is-visible',
      entry !== null && isVisible(exchange),
      `what the client saw of ${quoted}`,
      {
        expected: 'an error',
        actual: !entry ? 'the provider was not asked' : isVisible(exchange) ? 'an error' : 'none',
      },
      refs(exchange, entry),
    )
    const reading = recordExchange(evidence, exchange)
    const { log } = target.observability
    if (!reading || log?.fields.state === undefined || log.failed.length === 0) return [visible]
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const state = String(at(record, log.fields.state))
    return [
      visible,
      {
        'record-says-failed': [
          log.failed.includes(state) || hasError(target, record),
          `the state on record of ${quoted}`,
          `${log.failed.join(' or ')}, or an error`,
          JSON.stringify(state),
          refs(reading),
        ],
      },
    ]
  }),
})

const slow = step('slow')

/** Bytes that may still move between two measurements after the gateway has stopped reading. */
const MAX_STILL_BYTES = 2 ** 20
/** Maximum time until the first byte arrives, ms. By then, the mock has written the whole flood. */
const MAX_FIRST_BYTE_MS = 12_000
/** Time until the first measurement and between two measurements, ms, and the maximum number of measurements. */
const FIRST_LOOK_MS = 500
const LOOK_INTERVAL_MS = 2_000
const MAX_LOOKS = 12

function standsStill(taken: readonly (number | null)[]): boolean {
  const [first, second] = taken.slice(-2)
  return first != null && second != null && second - first < MAX_STILL_BYTES
}

check('FLOW-10', {
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const call = await session.openChat(slow, {
      stream: true,
      script: [{ scenario: 'flood' }],
      timeout: 45_000,
    })
    // Pauses in the callback of the first byte: one turn of the event loop later, a busy machine may have
    // read too much.
    await call.until((body) => {
      if (body !== '') call.pause()
      return body !== ''
    }, MAX_FIRST_BYTE_MS)
    call.pause()
    const taken: (number | null)[] = []
    // Buffers on the way fill up first. On a busy machine, they fill slowly.
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      await session.wait(looks === 0 ? FIRST_LOOK_MS : LOOK_INTERVAL_MS)
      const entry = servedBy(await session.soFar(), call)
      taken.push(entry?.answer.bytes ?? null)
      session.note('complete', entry?.answer.complete ?? null)
      if (looks > 0 && (entry?.answer.complete || standsStill(taken))) break
    }
    session.note('taken', taken)
    call.leave()
    await call.done
  },
  judge({ evidence }) {
    const taken = evidence.facts.taken as (number | null)[]
    const [first, second] = taken.slice(-2) as [number | null, number | null]
    const seconds = (looks: number) => (looks * LOOK_INTERVAL_MS) / 1_000
    const see = evidence.exchanges.map(ref)
    const what = 'what was taken from the provider while the client read nothing'
    const actual = `${first === null ? 'an unknown number of bytes' : size(first)} after ${seconds(taken.length - 1)} s and ${second === null ? 'an unknown number' : size(second)} after ${seconds(taken.length)} s${evidence.facts.complete === true ? ', which was all of it' : ''}`
    // Repetitive data compresses to almost nothing and fits into any buffer.
    if (evidence.exchanges.some(({ headers }) => !/^(identity)?$/i.test(headers['content-encoding'] ?? '')))
      return [doubt('provider-is-slowed', `${what}: ${actual}; the answer is compressed`, see)]
    return {
      'provider-is-slowed': [
        standsStill(taken) && evidence.facts.complete === false,
        what,
        `less than ${size(MAX_STILL_BYTES)} between two looks`,
        actual,
        see,
      ],
    }
  },
})
