// Checks of errors, of malformed, large and hostile requests, and of refusals.

import { scriptedFailure } from '../../dialects/dialect.ts'
import { dialectOf, everyModel, ref, refs, servedBy } from '../../dialects/lookup.ts'
import { endText, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { callEach, each, family, type Told, thenCoolDown } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { answersWith, retryAfter } from '../expect.ts'
import { isStillThere, malformed, post } from '../server/parts.ts'

const check = family()

const failing = {
  unknownModel: step('unknown model'),
  allTargetsFail: step('all targets fail'),
  providerRefuses: step('provider refuses'),
  noKey: step('no key'),
  readPathWrongParameter: step('read path, wrong parameter'),
  nothingThere: step('nothing there'),
  noJson: step('no JSON'),
  noMessages: step('no messages'),
}

check('FAIL-01', {
  hostile: true,
  async exercise(session) {
    const [[, missing] = ['', '{}']] = Object.entries(session.dialect.malformed)
    await post(session, failing.noJson, malformed(session)['no JSON']!)
    await post(session, failing.noMessages, missing)
    await session.chat(failing.unknownModel, {
      model: 'no-such-provider/no-such-model',
      script: [{ scenario: '404' }],
    })
    await session.chat(failing.allTargetsFail, { script: [{ scenario: '500' }] })
    await session.wait(session.target.capabilities.cooldown_ms)
    for (const model of everyModel(session))
      await session.chat(failing.providerRefuses, { model, script: [{ scenario: '400' }] })
    if (session.target.capabilities.gateway_keys) await session.chat(failing.noKey, { key: null })
    if (session.dialect.name !== 'chat') return // once is enough for a request that is not a call
    for (const path of session.target.capabilities.read_paths)
      await session.ask(
        failing.readPathWrongParameter,
        `${path}${path.includes('?') ? '&' : '?'}no_such_parameter=1`,
        { key: session.running.keys.reader },
      )
    await session.ask(failing.nothingThere, '/v1/no-such-endpoint', { key: session.running.keys.reader })
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges
      .filter(
        ({ step }) =>
          waybill || (step !== failing.readPathWrongParameter.step && step !== failing.nothingThere.step),
      )
      .map((exchange): Told => {
        const { status, body, step } = exchange
        const { isError, errorShape } = dialectOf(exchange)
        const harmless = step === failing.readPathWrongParameter.step && status === 200
        const failed = status !== null && status >= 400
        const worded = waybill
          ? isError(body) && typeof at(jsonOf(body), '/request_id') === 'string'
          : isError(body)
        // A relayed provider error has no request id.
        const relayed =
          (step === failing.providerRefuses.step || step === failing.allTargetsFail.step) && isError(body)
        const ok = harmless || (failed && (worded || relayed))
        return {
          'error-body': [
            ok,
            `the answer to "${step}"`,
            `an error status and ${errorShape}${waybill ? ' with a request_id' : ''}`,
            `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
            refs(exchange, servedBy(evidence, exchange)),
          ],
        }
      }),
})

const bad = { malformed: step<{ body: string }>('malformed'), afterwards: step('afterwards') }

check('FAIL-02', {
  hostile: true,
  async exercise(session) {
    for (const [name, body] of Object.entries(malformed(session)))
      await post(session, bad.malformed.with({ body: name }), body)
    await session.chat(bad.afterwards)
  },
  judge: [
    each(bad.malformed, ({ exchange }) => {
      const { details, status } = exchange
      return {
        'malformed-is-4xx': [
          status !== null && status >= 400 && status < 500,
          `the answer to a body that is ${details.body}`,
          'a 4xx',
          endText(exchange),
        ],
      }
    }),
    each(bad.afterwards, ({ exchange, evidence }) => isStillThere(evidence, exchange)),
  ],
})

const large = { tooLarge: step('too large'), announced: step('announced'), afterwards: step('afterwards') }

check('FAIL-03', {
  needs: ['variant:small'],
  async exercise(session) {
    await session.another('small')
    const body = JSON.stringify({
      model: session.model,
      messages: [{ role: 'user', content: 'x'.repeat(2 ** 20) }],
    })
    const headers = { 'content-type': 'application/json' }
    await session.ask(large.tooLarge, '/v1/chat/completions', { method: 'POST', headers, body })
    // The announced length is enough: the body is never sent.
    await session.ask(large.announced, '/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-length': String(2 ** 30) },
      body: null,
      timeout: 3_000,
    })
    await session.chat(large.afterwards)
  },
  judge: [
    each([large.tooLarge, large.announced], ({ exchange }) => ({
      'too-large-is-413': [
        exchange.status === 413 && at(jsonOf(exchange.body), '/error/code') === 'body_too_large',
        `the answer to a body of ${exchange.step === large.announced.step ? '1 GiB that is only announced' : '1 MiB'}`,
        '413 body_too_large',
        `${endText(exchange)}${exchange.status === null ? '' : ` after ${Math.round(exchange.end_at - exchange.at)} ms`}`,
        [ref(exchange)],
      ],
    })),
    each(large.afterwards, ({ exchange }) => ({
      'works-afterwards': [
        exchange.status === 200,
        'a proper call afterwards',
        '200',
        endText(exchange),
        [ref(exchange)],
      ],
    })),
  ],
})

const sequence = { hostile: step('hostile'), afterwards: step('afterwards') }

async function leaveAtOnce(session: CheckContext): Promise<void> {
  const call = await session.openChat(sequence.hostile, { stream: true, script: [{ scenario: 'long' }] })
  await session.wait(5)
  call.leave()
  await call.done
}

check('FAIL-06', {
  hostile: true,
  timeout: 120_000,
  async exercise(session) {
    for (const body of Object.values(malformed(session))) await post(session, sequence.hostile, body)
    await session.ask(sequence.hostile, session.dialect.path, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'x',
    })
    await session.ask(sequence.hostile, session.dialect.path, { method: 'DELETE' })
    await session.ask(sequence.hostile, `/${'a/'.repeat(2_000)}`, {})
    await session.ask(sequence.hostile, '/v1/models/%00%ff', {})
    await post(session, sequence.hostile, `{"model":"MODEL","messages":${'['.repeat(20_000)}`)
    await session.ask(sequence.hostile, session.dialect.path, {
      method: 'POST',
      headers: { ...session.callHeaders, 'x-filler': 'x'.repeat(12_000) },
      body: '{}',
    })
    for (const scenario of ['garbage', 'html', 'reset', 'cut-after-1']) {
      await session.chat(sequence.hostile, { stream: true, script: [{ scenario }] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await Promise.all(Array.from({ length: 20 }, () => leaveAtOnce(session)))
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.chat(sequence.afterwards)
    await session.chat(sequence.afterwards, { stream: true })
    // Abandoned calls may reach the mock later, but they belong to this check.
    await session.drain()
  },
  judge: ({ evidence }) => [
    {
      'hostile-requests-were-made': [
        sequence.hostile.in(evidence).length > 20,
        'hostile requests that were made',
        'more than 20',
        String(sequence.hostile.in(evidence).length),
        refs(...sequence.hostile.in(evidence).slice(0, 1)),
      ],
    },
    sequence.afterwards.in(evidence).map((exchange): Told => isStillThere(evidence, exchange)),
  ],
})

const meanings = {
  refuses: step<{ model: string; status: number; stream: boolean }>('the provider refuses'),
  fails: step<{ stream: boolean }>('the provider fails'),
  overloaded: step<{ stream: boolean }>('the provider is overloaded'),
  busy: step<{ stream: boolean }>('the provider is busy'),
}

const REFUSAL = 'The context is 12 tokens too long, synthetic.'
/** A gateway may wait as long as the provider requested in the scenario, and then try again. */
const BUSY_MS = 1_500

check('FAIL-04', {
  timeout: 180_000,
  exercise: [
    callEach(
      meanings.refuses,
      { model: everyModel, status: [400, 422], stream: [false, true] },
      ({ status, ...call }) => ({ ...call, script: [{ status, refusal: REFUSAL }] }),
      thenCoolDown(),
    ),
    callEach(
      meanings.fails,
      { stream: [false, true] },
      ({ stream }) => ({ stream, script: [scriptedFailure(500)], timeout: 60_000 }),
      thenCoolDown(),
    ),
    callEach(
      meanings.overloaded,
      { stream: [false, true] },
      ({ stream }) => ({ stream, script: [scriptedFailure(529)], timeout: 60_000 }),
      thenCoolDown(),
    ),
    callEach(
      meanings.busy,
      { stream: [false, true] },
      ({ stream }) => ({ stream, script: [{ scenario: '429-retry-after' }], timeout: 60_000 }),
      thenCoolDown(BUSY_MS),
    ),
  ],
  judge: [
    each(meanings.refuses, (looked) =>
      answersWith('keeps-status-and-message', { status: '4xx', holds: '12 tokens too long' }, looked),
    ),
    each([meanings.fails, meanings.overloaded], (looked) =>
      answersWith('keeps-5xx', { status: '5xx' }, looked),
    ),
    each(meanings.overloaded, (looked) =>
      looked.waybill ? answersWith('keeps-overloaded', { status: 529 }, looked) : [],
    ),
    each(meanings.busy, (looked) => [
      answersWith('keeps-429', { status: 429 }, looked),
      { ...retryAfter('keeps-retry-after', 1, looked), advice: true },
    ]),
  ],
})
