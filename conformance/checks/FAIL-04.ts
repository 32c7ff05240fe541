// FAIL-04: A final provider error keeps its meaning: 4xx stays 4xx with the provider's message; `Retry-After` is
// passed on.
import { type Check, finding } from '../check.ts'
import { refs, requestsOf } from '../lookup.ts'

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
          finding('keeps-status-and-message', kept && worded, `what became of the provider's ${label}`, see, {
            expected: "a 4xx with the provider's message",
            actual: `${status} ${worded ? 'with' : 'without'} it: ${body.slice(0, 120) || 'no body'}`,
          }),
        ]
      }
      return [
        finding('keeps-429', status === 429, 'what became of a 429 of every target', see, {
          expected: '429',
          actual: String(status),
        }),
        finding(
          'keeps-retry-after',
          headers['retry-after'] !== undefined,
          "the provider's Retry-After",
          see,
          { expected: 'to be passed on', actual: headers['retry-after'] ?? 'no such header' },
        ),
      ]
    }),
} satisfies Check
