// FLOW: a stream arrives as it was sent: complete, once, in order, without waiting, and ends as it ended.
// One family, one file.
import { isDeepStrictEqual } from 'node:util'
import type { Step } from '../../mocks/script.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, recordIn, ref, refs, requestIdOf, servedBy } from '../lookup.ts'
import { at, eventsOf, readChat } from '../reading.ts'
import { DONE, delta } from '../scripted.ts'
import type { Session } from '../session.ts'

/** Makes a streamed call for each scenario. */
const streamEach =
  (...scenarios: readonly string[]) =>
  async (session: Session) => {
    for (const scenario of scenarios)
      await session.chat(scenario, { stream: true, script: [{ scenario }], timeout: 30_000 })
  }

/** What the client read beside what the provider sent, by meaning. */
function sameAnswer(evidence: Evidence, exchange: Exchange): Finding {
  const entry = servedBy(evidence, exchange)
  const [got, sent] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
  const parts = ['content', 'reasoning', 'tools', 'finish'] as const
  const different = parts.filter((part) => !isDeepStrictEqual(got[part], sent[part]))
  const said = sent.content !== '' || sent.tools.length > 0
  const ok = said && different.length === 0 && exchange.end === 'complete' && exchange.utf8
  const what = different.length > 0 ? `${different.join(' and ')} differ` : 'as the provider sent it'
  return finding(ok, `${exchange.label}: ${what}; ended ${exchange.end}`, refs(exchange, entry))
}

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
    ok,
    `${exchange.label}: ${got.length} events, the provider sent ${sent.length}; their bytes are ${ok ? 'equal' : 'not equal'}`,
    refs(exchange, entry),
  )
}

export const completeOnceInOrder = {
  id: 'FLOW-01',
  timeout: 60_000,
  async exercise(session) {
    for (const scenario of ['plain', 'long', 'tools', 'reasoning', 'finish-length', 'many-events']) {
      await session.chat(`${scenario}, streamed`, { stream: true, script: [{ scenario }] })
      await session.chat(scenario, { script: [{ scenario }] })
    }
  },
  judge: ({ evidence, waybill }) => [
    ...evidence.exchanges
      // Above 256 KiB the witness keeps no copy of what it sent.
      .filter((exchange) => servedBy(evidence, exchange)?.answer.body !== null)
      .map((exchange) => sameAnswer(evidence, exchange)),
    ...evidence.exchanges.filter(({ label }) => label.startsWith('many-events')).map(inOrder),
    ...(waybill ? evidence.exchanges.filter(({ label }) => /^(plain|tools), streamed/.test(label)) : []).map(
      (exchange) => sameBytes(evidence, exchange),
    ),
  ],
} satisfies Check

/** So many events the scenario has. */
const MANY = 10_000

/** Events that carry their number arrive each once and in order, up to the last. */
function inOrder(exchange: Exchange): Finding {
  const numbers = [...readChat(exchange.body).content.matchAll(/\d+/g)].map(Number)
  const broken = numbers.findIndex((number, index) => index > 0 && number !== numbers[index - 1]! + 1)
  const ok = numbers.length === MANY && broken < 0
  return finding(
    ok,
    `${exchange.label}: ${numbers.length} numbers of ${MANY}, ${broken < 0 ? 'each once and in order' : `out of order at ${broken}`}`,
    [ref(exchange)],
  )
}

/** A stream whose characters of more than one byte, and the word `data`, arrive in two pieces. */
function splitSlowly(): Step[] {
  const text = [delta('naïve'), delta(' 🙂 '), delta('', 'stop'), DONE]
    .map(({ data }) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    .join('')
  const bytes = Buffer.from(text)
  const cuts = [...bytes.keys()].filter(
    (at) => bytes[at]! >> 6 === 0b10 || bytes.subarray(at - 2, at + 3).toString() === 'data:',
  )
  return [0, ...cuts].flatMap((from, index): Step[] => [
    { base64: bytes.subarray(from, cuts[index] ?? bytes.length).toString('base64') },
    { wait: 10 },
  ])
}

export const boundariesDoNotMatter = {
  id: 'FLOW-02',
  async exercise(session) {
    await streamEach('per-byte', 'split-utf8', 'split-data', 'crlf')(session)
    // Writes that follow each other may arrive as one. With a pause between them they do not.
    await session.chat('split slowly', { stream: true, script: [{ events: splitSlowly() }], timeout: 30_000 })
  },
  judge: ({ evidence }) => evidence.exchanges.map((exchange) => sameAnswer(evidence, exchange)),
} satisfies Check

const HELD = 4

export const eventsAreNotHeldBack = {
  id: 'FLOW-03',
  async exercise(session) {
    const gates = Array.from({ length: HELD }, () => session.nonce())
    const events = gates.flatMap((gate, index) => [delta(`held-${index};`), { gate }])
    const script = [{ events: [...events, delta('', 'stop'), DONE] }]
    const call = await session.openChat('held', { stream: true, script })
    const arrived: boolean[] = []
    for (const [index, gate] of gates.entries()) {
      // By meaning: a gateway may cut the text into other pieces.
      arrived.push(await call.until((body) => readChat(body).content.includes(`held-${index};`), 3_000))
      await session.witness.release(gate)
    }
    await call.done
    session.note('arrived', arrived)
  },
  judge: ({ evidence }) =>
    (evidence.facts.arrived as boolean[]).map((ok, index) =>
      finding(
        ok,
        `event ${index + 1} ${ok ? 'arrived while the provider held back' : 'did not arrive within 3 s while the provider held back'} the next one`,
        evidence.exchanges.map(ref),
      ),
    ),
} satisfies Check

export const commentsAreHarmless = {
  id: 'FLOW-04',
  exercise: streamEach('comments', 'pings'),
  judge: ({ evidence }) => evidence.exchanges.map((exchange) => sameAnswer(evidence, exchange)),
} satisfies Check

export const leavingClosesUpstream = {
  id: 'FLOW-05',
  hostile: true,
  async exercise(session) {
    const gate = session.nonce()
    const call = await session.openChat('left', {
      stream: true,
      script: [{ events: [delta('one'), { gate }, DONE] }],
    })
    await call.until((body) => body.includes('one'), 5_000)
    call.leave()
    await call.done
    // Waits for the ledger to say it, for as long as the weaker limit allows.
    for (let waited = 0; waited < 5_500; waited += 50) {
      const entry = await session.witness.seen(call.nonce, 1)
      if (entry?.peer_left_at != null) break
      await session.wait(50)
    }
    await session.witness.release(gate)
  },
  judge: ({ evidence, waybill }) =>
    labelled(evidence, 'left').map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const left = entry?.peer_left_at ?? null
      const ms = left === null ? null : Math.round(left - exchange.end_at)
      const limit = waybill ? 1_000 : 5_000
      return finding(
        ms !== null && ms <= limit,
        `the provider's stream was ${ms === null ? 'not closed' : `closed after ${ms} ms`}, limit ${limit} ms`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

/** Whether the client can see that an answer is not whole: the connection broke, or an error was said. */
const isVisible = ({ end, status, body }: Exchange): boolean =>
  end === 'cut' ||
  end === 'refused' ||
  (status !== null && status >= 400) ||
  readChat(body).errors.length > 0 ||
  eventsOf(body).some(({ event }) => event === 'error')

export const cutIsVisible = {
  id: 'FLOW-06',
  hostile: true,
  exercise: streamEach('cut-after-2', 'cut-in-utf8'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { done } = readChat(exchange.body)
      const entry = servedBy(evidence, exchange)
      const ok = entry !== null && isVisible(exchange) && done === 0
      return finding(
        ok,
        `${exchange.label}: ${entry ? 'the provider cut its stream' : 'the provider was not asked'}, the client saw ${isVisible(exchange) ? 'an error' : `an ordinary end (${exchange.end})`} and ${done} [DONE], expected an error and none`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

export const oneEnd = {
  id: 'FLOW-07',
  exercise: streamEach('plain', 'tools', 'finish-length', 'finish-content-filter'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
      const ok =
        isDeepStrictEqual(got.finish, sent.finish) &&
        got.done === sent.done &&
        !got.afterDone &&
        sent.done === 1
      return finding(
        ok,
        `${exchange.label}: finish reasons ${got.finish.map(({ reason }) => reason).join(', ') || 'none'}, ${got.done} [DONE]${got.afterDone ? ', and something after it' : ''}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

export const toolCallsStayApart = {
  id: 'FLOW-08',
  exercise: streamEach('tools', 'tools-parallel'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body).tools, readChat(entry?.answer.body ?? '').tools]
      const ok = sent.length > 0 && isDeepStrictEqual(got, sent)
      return finding(
        ok,
        `${exchange.label}: ${got.length} tool calls, the provider sent ${sent.length}; ids, names and arguments are ${ok ? 'equal' : 'not equal'}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

export const lateErrorArrives = {
  id: 'FLOW-09',
  hostile: true,
  async exercise(session) {
    const exchange = await session.chat('error after the response start', {
      stream: true,
      script: [{ scenario: 'error-in-stream' }],
    })
    await session.record('record', exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence, target }) {
    const [exchange] = labelled(evidence, 'error after the response start')
    const entry = servedBy(evidence, exchange!)
    const findings = [
      finding(
        entry !== null && isVisible(exchange!),
        `${entry ? 'the provider sent an error in its stream' : 'the provider was not asked'}, the client ${isVisible(exchange!) ? 'saw' : 'did not see'} one`,
        refs(exchange, entry),
      ),
    ]
    const [reading] = labelled(evidence, 'record')
    const { log } = target.observability
    if (reading && log?.fields.state !== undefined && log.failed.length > 0) {
      const state = String(
        at(recordIn(target, reading, requestIdOf(target, exchange!) ?? ''), log.fields.state),
      )
      findings.push(
        finding(log.failed.includes(state), `the record says ${JSON.stringify(state)}`, refs(reading)),
      )
    }
    return findings
  },
} satisfies Check

/** What may lie in the buffers of systems and gateways when nobody reads, of 64 MiB. The control behind two more connections had 18.3 MB. */
const IN_BETWEEN = 32 * 2 ** 20

export const slowClientSlowsUpstream = {
  id: 'FLOW-10',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const call = await session.openChat('slow', {
      stream: true,
      script: [{ scenario: 'flood' }],
      timeout: 30_000,
    })
    await call.until((body) => body.length > 0, 5_000)
    call.pause()
    await session.wait(3_000)
    const entry = await session.witness.seen(call.nonce, 1)
    session.note('taken', entry?.answer.bytes ?? null)
    session.note('complete', entry?.answer.complete ?? null)
    call.leave()
    await call.done
  },
  judge({ evidence }) {
    const taken = evidence.facts.taken as number | null
    const ok = taken !== null && taken < IN_BETWEEN && evidence.facts.complete === false
    return [
      finding(
        ok,
        `while the client read nothing for 3 s, ${taken === null ? 'nobody knows how many' : taken} bytes were taken from the provider; allowed ${IN_BETWEEN}`,
        evidence.exchanges.map(ref),
      ),
    ]
  },
} satisfies Check
