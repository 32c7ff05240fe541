// FAIL-05: If the provider is unreachable, is silent or sends garbage, the client gets a 5xx or 408 with a readable
// body, or an error event in a stream, within the declared time + 5 s. (Waybill: 502 or 504.)

import { askedModel, ref, refs, requestsOf } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { delta } from '../dialects/scripted.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { jsonOf } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { declares, type Target } from '../target/schema.ts'
import { endSeen, isVisible, ordinaryCall, pace } from './flow/parts.ts'

const steps = {
  broken: step<{ provider: string; stream: boolean }>('broken provider'),
  silentMidwayStreamed: step('silent midway, streamed'),
  reachableAgain: step('reachable again'),
}

/** Script name for a provider that refuses connections; the other names are scenarios of the mock. */
const UNREACHABLE = 'unreachable'

/** Time that a gateway may take beyond its declared time-out, ms. */
const GRACE_MS = 5_000

/** Variant of a target with the declared time-outs. A target without this variant always uses them. */
const VARIANT = 'time-outs'

/** Returns the number of targets that the target file declares for a call's model. */
function targetsOf({ models }: Target, { request }: Exchange): number {
  const id = askedModel({ request })
  return models.logical.find((table) => table.id === id)?.targets.length ?? 1
}

export const brokenProvider = {
  id: 'FAIL-05',
  hostile: true,
  needs: ['time_outs'],
  timeout: 180_000,
  async exercise(session) {
    const limits = session.target.capabilities.time_outs!
    if (declares(session.target, `variant:${VARIANT}`)) await session.another(VARIANT)
    const slowest = Math.max(limits.answer_ms ?? 0, limits.first_event_ms ?? 0)
    const timeout = (slowest + GRACE_MS) * 4
    const broken = (provider: string, stream = false) =>
      session.chat(steps.broken.with({ provider, stream }), {
        stream,
        script: [{ scenario: provider }],
        timeout,
      })
    const silentMidway = async ({ idle_ms }: typeof limits) =>
      idle_ms !== undefined &&
      session.chat(steps.silentMidwayStreamed, {
        stream: true,
        script: [{ events: [delta('one'), { gate: `never-${session.nonce()}` }] }],
        timeout: idle_ms + 2 * GRACE_MS,
      })
    // Runs calls one after the other; FAIL-06 tests concurrent calls.
    for (const silent of [() => broken('silent'), () => broken('silent', true), () => silentMidway(limits)]) {
      await silent()
      await session.wait(session.target.capabilities.cooldown_ms)
      await ordinaryCall(session)
    }
    for (const provider of ['garbage', 'html', 'reset']) {
      await broken(provider)
      await session.wait(session.target.capabilities.cooldown_ms)
      await ordinaryCall(session)
    }
    await session.mock.setReachable(false)
    try {
      await session.chat(steps.broken.with({ provider: UNREACHABLE, stream: false }), { timeout })
    } finally {
      await session.mock.setReachable(true)
    }
    await session.wait(session.target.capabilities.cooldown_ms)
    // An ordinary call on a busy machine may exceed the short time-out.
    for (let tries = 0; tries < 3; tries++)
      if ((await session.chat(steps.reachableAgain)).status === 200) break
  },
  judge: ({ evidence, target, waybill }) => [
    finding(
      'calls-reach-a-provider',
      evidence.exchanges.some((exchange) => requestsOf(evidence, exchange).length > 0),
      `of ${evidence.exchanges.length} calls, those that reached a provider`,
      {
        expected: 'at least one',
        actual: String(evidence.exchanges.filter((each) => requestsOf(evidence, each).length > 0).length),
      },
      evidence.exchanges.map(ref),
    ),
    ...steps.reachableAgain
      .in(evidence)
      .slice(-1)
      .map((exchange) =>
        finding(
          'answers-when-reachable',
          exchange.status === 200,
          'a call when the provider could be reached again',
          { expected: '200', actual: endText(exchange) },
          refs(exchange, ...requestsOf(evidence, exchange)),
        ),
      ),
    ...steps.silentMidwayStreamed.in(evidence).map((exchange) => {
      const { idle_ms } = target.capabilities.time_outs!
      const took = Math.round(exchange.end_at - exchange.at)
      return finding(
        'silence-ends-in-time',
        isVisible(exchange) && took <= idle_ms! + GRACE_MS + pace(evidence),
        'what the client saw of a provider that fell silent after its first event',
        {
          expected: `an error within ${Math.round(idle_ms! + GRACE_MS + pace(evidence))} ms, declared ${idle_ms} ms`,
          actual: `${endSeen(exchange)} after ${took} ms`,
        },
        refs(exchange, ...requestsOf(evidence, exchange)),
      )
    }),
    ...steps.broken.in(evidence).map((exchange) => {
      const { time_outs, retry_delay_ms } = target.capabilities
      const { answer_ms = 0, first_event_ms = 0, connect_ms = 0 } = time_outs!
      const entries = requestsOf(evidence, exchange)
      // Allows two attempts for each target, because a gateway that retries forever has no time-out.
      const most = 2 * targetsOf(target, exchange)
      const { provider, stream } = exchange.details
      const unreachable = provider === UNREACHABLE
      const attempts = unreachable ? most : Math.min(most, Math.max(1, entries.length))
      const declared = unreachable ? connect_ms : stream ? first_event_ms : answer_ms
      const limit = declared || Math.max(answer_ms, first_event_ms)
      const allowed = Math.round(
        (limit + pace(evidence)) * attempts + retry_delay_ms * (attempts - 1) + GRACE_MS,
      )
      const within = exchange.end_at - exchange.at <= allowed
      const { status, body } = exchange
      // Some gateways send a stream's headers before they know the outcome.
      const streamed = stream && jsonOf(body) === undefined
      const inStream = streamed && readAnswer(exchange).errors.length > 0
      const worded = waybill
        ? status === 502 || status === 504
        : status !== null && (status >= 500 || status === 408 || inStream)
      const took = Math.round(exchange.end_at - exchange.at)
      return finding(
        'readable-error-in-time',
        worded && within && exchange.body.length > 0,
        `the answer when the provider is "${provider}"${stream ? ', streamed' : ''}`,
        {
          expected: `${waybill ? '502 or 504' : 'a 5xx, 408 or error event'} with a body within ${allowed} ms`,
          actual: `${endText(exchange)} ${body.length > 0 ? 'with' : 'without'} a body after ${took} ms; ${entries.length} requests`,
        },
        refs(exchange, ...entries),
      )
    }),
  ],
} satisfies Check
