// FAIL: what goes wrong is said in a shape that clients can read, and the gateway goes on. One family, one file.
import { type Check, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, ref, refs, requestsOf, servedBy } from '../lookup.ts'
import { at, isOpenAiError, jsonOf, readChat } from '../reading.ts'
import type { Session } from '../session.ts'

const PATH = '/v1/chat/completions'
const JSON_TYPE = { 'content-type': 'application/json' }

/** Bodies that are no chat request. */
const MALFORMED: Readonly<Record<string, string>> = {
  empty: '',
  'no JSON': 'Where do you go?',
  'cut JSON': '{"model":"x","messages":[',
  'an array': '[]',
  'a string': '"auto"',
  'no messages': '{"model":"MODEL"}',
  'messages of the wrong type': '{"model":"MODEL","messages":"hello"}',
  'model of the wrong type': '{"model":7,"messages":[{"role":"user","content":"x"}]}',
  'temperature of the wrong type':
    '{"model":"MODEL","messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
}

const post = (session: Session, label: string, body: string) =>
  session.ask(label, PATH, { method: 'POST', headers: JSON_TYPE, body: body.replace('MODEL', session.model) })

export const errorShape = {
  id: 'FAIL-01',
  hostile: true,
  async exercise(session) {
    await post(session, 'no JSON', MALFORMED['no JSON']!)
    await post(session, 'no messages', MALFORMED['no messages']!)
    await session.chat('unknown model', {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    await session.chat('all targets fail', { script: [{ scenario: '500' }] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat('provider refuses', { script: [{ scenario: '400' }] })
    if (session.target.capabilities.gateway_keys) await session.chat('no key', { key: null })
    for (const path of session.target.capabilities.read_paths)
      await session.ask(
        'read path, wrong parameter',
        `${path}${path.includes('?') ? '&' : '?'}no_such_parameter=1`,
        { key: session.running.keys.reader },
      )
    await session.ask('nothing there', '/v1/no-such-endpoint', { key: session.running.keys.reader })
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges
      .filter(({ label }) => waybill || !/^(read path|nothing there)/.test(label))
      .map((exchange) => {
        const { status, body, label } = exchange
        const harmless = label.startsWith('read path') && status === 200
        const failed = status !== null && status >= 400
        const worded = waybill
          ? isOpenAiError(body) && typeof at(jsonOf(body), '/request_id') === 'string'
          : isOpenAiError(body)
        // A provider's own error is relayed as it is, and carries no request id.
        const relayed = /provider refuses|all targets fail/.test(label) && isOpenAiError(body)
        const ok = harmless || (failed && (worded || relayed))
        const said = `${label}: answered with ${status ?? exchange.error}: ${body.slice(0, 120)}`
        const wanted = `an error status and {"error":{"message":…}}${waybill ? ' with a request_id' : ''}`
        return finding(
          ok,
          ok ? said : `${said}; expected ${wanted}`,
          refs(exchange, servedBy(evidence, exchange)),
        )
      }),
} satisfies Check

/** What a proper call says about the hostile ones before it. */
function isStillThere(evidence: Evidence, exchange: Exchange) {
  const { status, error, end } = exchange
  const { gone } = evidence.facts
  return finding(
    status === 200 && end === 'complete' && gone === undefined,
    `a proper call afterwards: ${status ?? error}${gone === undefined ? '' : `; the gateway is gone: ${gone}`}`,
    refs(exchange, servedBy(evidence, exchange)),
  )
}

export const malformedIs4xx = {
  id: 'FAIL-02',
  hostile: true,
  async exercise(session) {
    for (const [label, body] of Object.entries(MALFORMED)) await post(session, label, body)
    await session.chat('afterwards')
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const { label, status } = exchange
      if (label === 'afterwards') return isStillThere(evidence, exchange)
      return finding(
        status !== null && status >= 400 && status < 500,
        `a body that is ${label}: ${status ?? exchange.error}, expected a 4xx`,
        [ref(exchange)],
      )
    }),
} satisfies Check

/** What the scenario 429-retry-after asks for, ms. */
const RETRY_AFTER = 1_000

export const finalErrorsKeepMeaning = {
  id: 'FAIL-04',
  timeout: 180_000,
  async exercise(session) {
    const error = {
      error: {
        message: 'The context is 12 tokens too long, synthetic.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }
    for (const stream of [false, true]) {
      for (const status of [400, 422]) {
        await session.chat(String(status), { stream, script: [{ status, body: error }] })
        await session.wait(session.target.capabilities.cooldown_ms)
      }
      // A gateway that waits as long as the provider asked it to, and tries again, takes its time.
      await session.chat('429', { stream, script: [{ scenario: '429-retry-after' }], timeout: 60_000 })
      await session.wait(Math.max(session.target.capabilities.cooldown_ms, RETRY_AFTER + 500))
    }
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const { label, status, body, headers } = exchange
      const last = requestsOf(evidence, exchange).at(-1)
      const see = refs(exchange, last)
      if (label !== '429') {
        const kept = status !== null && status >= 400 && status < 500
        const worded = body.includes('12 tokens too long')
        return [
          finding(
            kept && worded,
            `${label} of the provider became ${status} ${worded ? 'with' : 'without'} its message: ${body.slice(0, 120)}`,
            see,
          ),
        ]
      }
      return [
        finding(status === 429, `429 of every target became ${status}, expected 429`, see),
        finding(
          headers['retry-after'] !== undefined,
          `Retry-After of the provider: ${headers['retry-after'] ?? 'not passed on'}`,
          see,
        ),
      ]
    }),
} satisfies Check

/** Beyond the declared time-out a gateway has this long, ms. */
const GRACE = 5_000

export const brokenProvider = {
  id: 'FAIL-05',
  hostile: true,
  needs: ['time_outs'],
  timeout: 180_000,
  async exercise(session) {
    const limits = session.target.capabilities.time_outs!
    const slowest = Math.max(limits.answer_ms ?? 0, limits.first_event_ms ?? 0)
    const timeout = (slowest + GRACE) * 4
    for (const [scenario, stream] of [
      ['silent', false],
      ['silent', true],
      ['garbage', false],
      ['html', false],
      ['reset', false],
    ] as const) {
      await session.chat(`${scenario}${stream ? ', streamed' : ''}`, {
        stream,
        script: [{ scenario }],
        timeout,
      })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target, waybill }) => [
    finding(
      evidence.exchanges.some((exchange) => requestsOf(evidence, exchange).length > 0),
      `${evidence.exchanges.filter((exchange) => requestsOf(evidence, exchange).length > 0).length} of ${evidence.exchanges.length} calls reached a provider`,
      evidence.exchanges.map(ref),
    ),
    ...evidence.exchanges.map((exchange) => {
      const { time_outs, retry_delay_ms } = target.capabilities
      const { answer_ms = 0, first_event_ms = 0 } = time_outs!
      const entries = requestsOf(evidence, exchange)
      const attempts = Math.max(1, entries.length)
      const limit =
        (exchange.label.endsWith('streamed') ? first_event_ms : answer_ms) ||
        Math.max(answer_ms, first_event_ms)
      const allowed = limit * attempts + retry_delay_ms * (attempts - 1) + GRACE
      const within = exchange.end_at - exchange.at <= allowed
      const { status, label, body } = exchange
      // Some send the headers of a stream before they know what comes.
      const streamed = label.endsWith('streamed') && jsonOf(body) === undefined
      const inStream = streamed && readChat(body).errors.length > 0
      const worded = waybill
        ? status === 502 || status === 504
        : status !== null && (status >= 500 || status === 408 || inStream)
      const took = Math.round(exchange.end_at - exchange.at)
      return finding(
        worded && within && exchange.body.length > 0,
        `${exchange.label}: ${status ?? exchange.error} after ${took} ms, expected ${waybill ? '502 or 504' : 'a 5xx, 408 or error event'} with a body; ${entries.length} requests of at most ${limit} ms`,
        refs(exchange, ...entries),
      )
    }),
  ],
} satisfies Check

export const hostileSequence = {
  id: 'FAIL-06',
  hostile: true,
  timeout: 120_000,
  async exercise(session) {
    for (const body of Object.values(MALFORMED)) await post(session, 'hostile', body)
    await session.ask('hostile', PATH, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    })
    await session.ask('hostile', PATH, { method: 'DELETE' })
    await session.ask('hostile', `/${'a/'.repeat(2_000)}`, {})
    await session.ask('hostile', '/v1/models/%00%ff', {})
    await post(session, 'hostile', `{"model":"MODEL","messages":${'['.repeat(20_000)}`)
    await session.ask('hostile', PATH, {
      method: 'POST',
      headers: { ...JSON_TYPE, 'x-filler': 'x'.repeat(12_000) },
      body: '{}',
    })
    for (const scenario of ['garbage', 'html', 'reset', 'cut-after-1']) {
      await session.chat('hostile', { stream: true, script: [{ scenario }] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await Promise.all(Array.from({ length: 20 }, () => leaveAtOnce(session)))
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat('afterwards')
    await session.chat('afterwards', { stream: true })
    // Calls that were left at once may reach the witness later; they belong to this check.
    await session.drain()
  },
  judge: ({ evidence }) => [
    finding(
      labelled(evidence, 'hostile').length > 20,
      `${labelled(evidence, 'hostile').length} hostile requests were made`,
    ),
    ...labelled(evidence, 'afterwards').map((exchange) => isStillThere(evidence, exchange)),
  ],
} satisfies Check

async function leaveAtOnce(session: Session): Promise<void> {
  const call = await session.openChat('hostile', { stream: true, script: [{ scenario: 'long' }] })
  await session.wait(5)
  call.leave()
  await call.done
}
