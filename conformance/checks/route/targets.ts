// Checks of the targets that a call reaches, also after a failure.

import type { ScriptStep } from '../../../mocks/server/script.ts'
import { firstTargetFails, scriptedFailure } from '../../dialects/dialect.ts'
import { aFallbackStatus, movedOn, ref, refs, requestsOf, where } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, listed, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { callEach, directIds, each, everything, family, logicalIds, thenCoolDown } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { wentTo } from '../expect.ts'
import { breakStream } from '../log/parts.ts'
import { targets } from './parts.ts'

const check = family()

const unknown = step<{ model: string }>('unknown model')

check('ROUTE-03', {
  async exercise(session) {
    // A gateway may pass unknown models to the provider, which then refuses them.
    const script = [{ scenario: '404' }]
    for (const model of ['no-such-route', 'no-such-provider/no-such-model'])
      await session.chat(unknown.with({ model }), { model, script })
  },
  judge: each(unknown, ({ exchange, evidence, waybill }) => {
    const { status, body, details } = exchange
    const refused = status !== null && status >= 400 && status < 500
    const worded = waybill
      ? status === 404 && at(jsonOf(body), '/error/code') === 'model_not_found'
      : body.length > 0
    const elsewhere = requestsOf(evidence, exchange).filter(
      ({ model }) => model === null || !details.model.endsWith(model),
    )
    return {
      'unknown-is-refused': [
        refused && worded,
        `the answer to a call of the unknown model "${details.model}"`,
        waybill ? '404 model_not_found' : 'a 4xx that says why',
        `${endText(exchange)}: ${body.slice(0, 120) || 'no body'}`,
        [ref(exchange)],
      ],
      'goes-nowhere-else': [
        elsewhere.length === 0,
        `other models that "${details.model}" was sent to`,
        'none',
        listed(elsewhere.map(where)),
        refs(exchange, ...elsewhere),
      ],
    }
  }),
})

/** Statuses after which a gateway may fall back only if it declares this. */
const FINAL = [400, 413, 422]

const firstFails = step<{ status: number; stream: boolean }>('the first target fails')

async function tryFallback(session: CheckContext, status: number, stream = false): Promise<void> {
  const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
  const script = firstTargetFails(status, route)
  await session.chat(firstFails.with({ status, stream }), { model: route.id, script, stream })
  await session.wait(session.target.capabilities.cooldown_ms)
}

const routeOf = (entries: Evidence['ledger']): string => entries.map(where).join(', ') || 'no target'

check('ROUTE-07', {
  needs: ['fallback'],
  timeout: 120_000,
  async exercise(session) {
    const { fallback_statuses } = session.target.capabilities
    for (const status of fallback_statuses) await tryFallback(session, status)
    // One streamed call is enough to show that streams fall back as well.
    await tryFallback(session, aFallbackStatus(session.target), true)
    for (const status of FINAL.filter((each) => !fallback_statuses.includes(each)))
      await tryFallback(session, status)
  },
  judge: each(firstFails, ({ exchange, details, evidence, target }) => {
    const entries = requestsOf(evidence, exchange)
    const others = movedOn(target, exchange, entries)
    const { status } = details
    const moves = target.capabilities.fallback_statuses.includes(status)
    return {
      'moves-on-as-declared': [
        moves ? others.length > 0 && exchange.status === 200 : entries.length > 0 && others.length === 0,
        `where the call went on to after ${status} of ${routeOf(entries.slice(0, 1))}, ${moves ? '' : 'not '}declared`,
        moves ? 'another target, and 200 for the client' : 'no target',
        `${routeOf(others)}, and ${endText(exchange)} for the client`,
        refs(exchange, ...entries),
      ],
    }
  }),
})

const broken = step<{ how: string }>('the stream breaks')

check('ROUTE-08', {
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const { logical } = session.target.models
    const model = logical.find(({ targets }) => targets.length > 1)?.id ?? session.model
    const endings: [string, ScriptStep][] = [
      ['cut', { end: 'cut' }],
      ['error event', { failure: 'synthetic' }],
    ]
    for (const [how, ending] of endings) {
      // Before the client has the first event, a gateway may still fall back.
      const { started } = await breakStream(session, broken.with({ how }), { model, ending })
      if (!started)
        session.untestable(
          'the first event of a stream did not reach the client before the next one was there',
        )
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    await session.drain()
  },
  judge: each(broken, ({ exchange, details, evidence }) => {
    const entries = requestsOf(evidence, exchange)
    // Attempts before the start of an answer are not retries of the answer.
    const began = entries.findIndex(({ answer }) => answer.status === 200)
    const retries = entries.slice(began + 1)
    return {
      'nothing-is-retried': [
        began >= 0 && retries.length === 0,
        `requests to providers for a call after its stream had begun (${details.how} after the first event)`,
        'none',
        began < 0 ? 'no stream began' : String(retries.length),
        refs(exchange, ...entries),
      ],
    }
  }),
})

const capable = { plain: step('plain'), tools: step('tools'), image: step('image') }

const TOOLS = [
  { type: 'function', function: { name: 'find_road', parameters: { type: 'object', properties: {} } } },
]

const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

check('ROUTE-12', {
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    await session.chat(capable.plain, { model: 'capable' })
    await session.chat(capable.tools, { model: 'capable', body: { tools: TOOLS } })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, IMAGE] }]
    await session.chat(capable.image, { model: 'capable', body: { messages } })
  },
  judge({ evidence }) {
    const [plain, tools, image] = [capable.plain, capable.tools, capable.image].map(
      (step) => step.in(evidence)[0]!,
    )
    const went = (exchange: Exchange) => targets(evidence, [exchange]).join()
    const seen = evidence.ledger.filter(({ at: time }) => time >= image!.at)
    return {
      'plain-goes-first': [
        went(plain!) === 'openai/no-tools',
        'where a plain call went',
        'openai/no-tools',
        went(plain!),
        refs(plain),
      ],
      'tools-go-where-they-can': [
        went(tools!) === 'groq/no-images',
        'where a call with tools went',
        'groq/no-images, the only target that has them',
        went(tools!),
        refs(tools),
      ],
      'image-is-refused': [
        image!.status === 503 &&
          at(jsonOf(image!.body), '/error/code') === 'no_target_available' &&
          seen.length === 0,
        'a call with an image, which no target takes',
        '503 no_target_available, and no request',
        `${endText(image!)} ${at(jsonOf(image!.body), '/error/code') ?? 'without a code'}, ${seen.length} requests`,
        refs(image),
      ],
    }
  },
})

const routed = step<{ model: string; stream: boolean }>('call')

check('ROUTE-01', {
  needs: ['logical'],
  exercise: callEach(routed, { model: logicalIds, stream: [false, true, false] }, (details) => details),
  judge: each(routed, (looked) =>
    wentTo('reaches-a-configured-target', 'to a target of the model', looked, 200),
  ),
})

const fails = step<{ model: string }>('the provider fails')

check('ROUTE-02', {
  needs: ['direct'],
  exercise: [
    callEach(routed, { model: directIds, stream: [false, true] }, (details) => details),
    callEach(
      fails,
      { model: directIds },
      ({ model }) => ({ model, script: [scriptedFailure(500)] }),
      thenCoolDown(),
    ),
  ],
  judge: each(everything, (looked) => wentTo('reaches-its-model-only', 'nowhere but to the model', looked)),
})

const allFail = step<{ model: string }>('all targets fail')

check('ROUTE-04', {
  needs: ['logical'],
  timeout: 90_000,
  exercise: [
    callEach(
      allFail,
      { model: logicalIds },
      ({ model }) => ({ model, script: [scriptedFailure(500)] }),
      thenCoolDown(),
    ),
    (session) => session.drain(),
  ],
  judge: each(allFail, (looked) =>
    wentTo('no-other-target', 'nowhere but to targets of the model', looked, 'error'),
  ),
})
