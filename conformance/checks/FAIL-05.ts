// FAIL-05: An unreachable, silent or garbage-speaking provider is a 5xx or 408 with a readable body, or an error
// event in a stream, within the declared time + 5 s (Waybill: 502 or 504).
import { type Check, finding } from '../check.ts'
import { ref, refs, requestsOf } from '../lookup.ts'
import { jsonOf, readChat } from '../reading.ts'

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
      'calls-reach-a-provider',
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
        'readable-error-in-time',
        worded && within && exchange.body.length > 0,
        `${exchange.label}: ${status ?? exchange.error} after ${took} ms, expected ${waybill ? '502 or 504' : 'a 5xx, 408 or error event'} with a body; ${entries.length} requests of at most ${limit} ms`,
        refs(exchange, ...entries),
      )
    }),
  ],
} satisfies Check
