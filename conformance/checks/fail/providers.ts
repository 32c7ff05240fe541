// Checks of providers that fail, fall silent or refuse a parameter.

import { delta } from '../../dialects/dialect.ts'
import { askedModel, readAnswer, ref, refs, requestsOf, where } from '../../dialects/lookup.ts'
import { type Exchange, endText, step } from '../../evidence/evidence.ts'
import { jsonOf } from '../../evidence/reading.ts'
import { declares, type Target } from '../../target/schema.ts'
import { absent, callEach, each, family, finding, type Told } from '../check.ts'
import { endSeen, isVisible, ordinaryCall, pace } from '../flow/parts.ts'

const check = family()

const outages = {
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

check('FAIL-05', {
  hostile: true,
  needs: ['time_outs'],
  timeout: 180_000,
  async exercise(session) {
    const limits = session.target.capabilities.time_outs!
    if (declares(session.target, `variant:${VARIANT}`)) await session.another(VARIANT)
    const slowest = Math.max(limits.answer_ms ?? 0, limits.first_event_ms ?? 0)
    const timeout = (slowest + GRACE_MS) * 4
    const broken = (provider: string, stream = false) =>
      session.chat(outages.broken.with({ provider, stream }), {
        stream,
        script: [{ scenario: provider }],
        timeout,
      })
    const silentMidway = async ({ idle_ms }: typeof limits) =>
      idle_ms !== undefined &&
      session.chat(outages.silentMidwayStreamed, {
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
      await session.chat(outages.broken.with({ provider: UNREACHABLE, stream: false }), { timeout })
    } finally {
      await session.mock.setReachable(true)
    }
    await session.wait(session.target.capabilities.cooldown_ms)
    // An ordinary call on a busy machine may exceed the short time-out.
    for (let tries = 0; tries < 3; tries++)
      if ((await session.chat(outages.reachableAgain)).status === 200) break
  },
  judge: ({ evidence, target, waybill }) => [
    {
      'calls-reach-a-provider': [
        evidence.exchanges.some((exchange) => requestsOf(evidence, exchange).length > 0),
        `of ${evidence.exchanges.length} calls, those that reached a provider`,
        'at least one',
        String(evidence.exchanges.filter((each) => requestsOf(evidence, each).length > 0).length),
        evidence.exchanges.map(ref),
      ],
    },
    outages.reachableAgain
      .in(evidence)
      .slice(-1)
      .map(
        (exchange): Told => ({
          'answers-when-reachable': [
            exchange.status === 200,
            'a call when the provider could be reached again',
            '200',
            endText(exchange),
            refs(exchange, ...requestsOf(evidence, exchange)),
          ],
        }),
      ),
    outages.silentMidwayStreamed.in(evidence).map((exchange): Told => {
      const { idle_ms } = target.capabilities.time_outs!
      const took = Math.round(exchange.end_at - exchange.at)
      return {
        'silence-ends-in-time': [
          isVisible(exchange) && took <= idle_ms! + GRACE_MS + pace(evidence),
          'what the client saw of a provider that fell silent after its first event',
          `an error within ${Math.round(idle_ms! + GRACE_MS + pace(evidence))} ms, declared ${idle_ms} ms`,
          `${endSeen(exchange)} after ${took} ms`,
          refs(exchange, ...requestsOf(evidence, exchange)),
        ],
      }
    }),
    outages.broken.in(evidence).map((exchange): Told => {
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
      return {
        'readable-error-in-time': [
          worded && within && exchange.body.length > 0,
          `the answer when the provider is "${provider}"${stream ? ', streamed' : ''}`,
          `${waybill ? '502 or 504' : 'a 5xx, 408 or error event'} with a body within ${allowed} ms`,
          `${endText(exchange)} ${body.length > 0 ? 'with' : 'without'} a body after ${took} ms; ${entries.length} requests`,
          refs(exchange, ...entries),
        ],
      }
    }),
  ],
})

const refusal = step<{ stream: boolean }>('the provider refuses a parameter')

const PARAMETER = 'temperature'
const REFUSED = {
  error: {
    message: `Unsupported parameter: '${PARAMETER}' is not supported with this model. This is synthetic.`,
    ...{ type: 'invalid_request_error', param: PARAMETER, code: 'unsupported_parameter' },
  },
}

check('FIT-08', {
  exercise: callEach(refusal, { stream: [false, true] }, ({ stream }) => ({
    stream,
    body: { [PARAMETER]: 0.37 },
    // A gateway that repeats the unchanged request is refused again.
    script: [{ status: 400, body: REFUSED }, { scenario: 'plain' }],
  })),
  judge: each(refusal, ({ exchange, details, evidence }) => {
    // A request with a wrong key is refused before its parameters are checked.
    const requests = requestsOf(evidence, exchange).filter(({ credential }) => credential !== 'mismatch')
    const sent = requests.map(({ body }) => JSON.stringify(body).includes(`"${PARAMETER}":`))
    const name = details.stream ? 'streamed' : 'whole'
    const evident = [exchange, ...requests].map(ref)
    // Another target may accept the parameter, so a request with the parameter may go there.
    const places = [...new Set(requests.map(where))].map((place) =>
      sent.filter((_, n) => where(requests[n]!) === place),
    )
    const once = finding(
      'at-most-once-more',
      places.every((each) => each.length <= 2 && !(each[0] && each[1])),
      `what a gateway sends after its provider refused a parameter (${name})`,
      {
        expected: `one request to each target, or a second one without ${PARAMETER}`,
        actual: requests.map((each, n) => `${where(each)} ${sent[n] ? 'with' : 'without'} it`).join(', '),
      },
      evident,
    )
    // Only an answer to a changed request must name the omitted parameter.
    if (exchange.status !== 200 || requests.length === 0 || sent.at(-1)) return [once]
    const says = finding(
      'says-what-it-left-out',
      Object.entries(exchange.headers ?? {}).some((header) =>
        header.join(' ').toLowerCase().includes(PARAMETER),
      ),
      `what the answer to a changed request says (${name})`,
      {
        expected: `a response header that names ${PARAMETER}`,
        actual: `${endText(exchange)}, and no header names it`,
      },
      evident,
    )
    return [once, says]
  }),
})

const forgetting = {
  refused: step('the provider refuses a parameter'),
  again: step<{ stream: boolean }>('the same call again'),
  restarted: step('the same call after a restart'),
}

const OTHER_PARAMETER = 'temperature'
const BODY = { [OTHER_PARAMETER]: 0.37 }
const OTHER_REFUSED = {
  error: {
    message: `Unsupported parameter: '${OTHER_PARAMETER}' is not supported with this model. This is synthetic.`,
    ...{ type: 'invalid_request_error', param: OTHER_PARAMETER, code: 'unsupported_parameter' },
  },
}

check('FIT-09', {
  needs: ['learns_refusals', 'variant:learns'],
  async exercise(session) {
    const { model, over_restarts, within_ms } = session.target.capabilities.learns_refusals!
    const running = await session.another('learns')
    const script = [{ status: 400, body: OTHER_REFUSED }, { scenario: 'plain' }]
    await session.chat(forgetting.refused, { model, body: BODY, script })
    await session.wait(within_ms)
    for (const stream of [false, true])
      await session.chat(forgetting.again.with({ stream }), { model, stream, body: BODY })
    if (!over_restarts) return
    await running.stop()
    await running.start()
    await session.chat(forgetting.restarted, { model, body: BODY })
  },
  judge({ evidence }) {
    const requests = (exchange: Exchange) =>
      requestsOf(evidence, exchange).map((entry) => ({
        ...{ entry, place: where(entry) },
        hasIt: JSON.stringify(entry.body).includes(`"${OTHER_PARAMETER}":`),
      }))
    const [first] = forgetting.refused.in(evidence)
    const refused = requests(first!).filter(({ entry, hasIt }) => hasIt && entry.answer.status === 400)
    if (refused.length === 0)
      return [
        absent('remembered', `No ${OTHER_PARAMETER} reached the provider, so none was refused.`, refs(first)),
      ]
    // Another model may accept the parameter.
    const places = new Set(refused.map(({ place }) => place))
    const judged = (id: string, calls: readonly Exchange[], when: string) =>
      calls.map((exchange) => {
        const sent = requests(exchange).filter(({ place }) => places.has(place))
        return finding(
          id,
          sent.every(({ hasIt }) => !hasIt),
          `what reaches a model that has refused a parameter, ${when}`,
          {
            expected: `no ${OTHER_PARAMETER}`,
            actual: sent.map(({ place, hasIt }) => `${place} ${hasIt ? 'with' : 'without'} it`).join(', '),
          },
          [ref(exchange), ...sent.map(({ entry }) => ref(entry))],
        )
      })
    return [
      ...judged('remembered', forgetting.again.in(evidence), 'in the next calls'),
      ...judged('over-a-restart', forgetting.restarted.in(evidence), 'after a restart'),
    ]
  },
})
