// Checks of token counts.
import { nonceIn, writeNonce } from '../../../mocks/ledger.ts'
import { modelsOf, ref, refs, requestsOf, where } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, endText, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { each, family, type Told } from '../check.ts'
import type { CheckContext } from '../context.ts'

const check = family({ needs: ['counts'], dialect: 'messages' })

const plainCount = step<{ model: string }>('count')
/** Step of CNT-04, which makes many counts at the same time. */
const many = step('count, one of many')

function ask(session: CheckContext, each: Parameters<CheckContext['ask']>[0], model: string) {
  const body = { model, messages: [{ role: 'user', content: `Count. ${writeNonce(session.nonce())}` }] }
  return session.ask(each, '/v1/messages/count_tokens', {
    method: 'POST',
    headers: session.callHeaders,
    body: JSON.stringify(body),
  })
}

check('CNT-01', {
  async exercise(session) {
    const { direct, logical } = session.target.models
    for (const { id } of [...logical, ...direct]) await ask(session, plainCount.with({ model: id }), id)
    await Promise.all(Array.from({ length: 25 }, () => ask(session, many, session.model)))
    await session.drain()
  },
  judge({ evidence }) {
    const spent = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const asked = evidence.exchanges
    return {
      'counts-never-spend': [
        asked.length > 25 && spent.length === 0,
        `inferences while tokens were counted ${asked.length} times`,
        'none',
        String(spent.length),
        [...asked.slice(0, 1), ...spent].map(ref),
      ],
    }
  },
})

check('CNT-04', {
  shares: 'CNT-01',
  judge({ evidence }) {
    const all = many.in(evidence)
    const bad = all.filter(
      ({ status, body }) => status !== 200 || !(Number(at(jsonOf(body), '/input_tokens')) > 0),
    )
    return {
      'many-counts-are-answered': [
        all.length === 25 && bad.length === 0,
        `counts of ${all.length} requests at once, without max_tokens`,
        'a number each',
        bad.length === 0
          ? 'so'
          : `${bad.length} without, first ${endText(bad[0]!)}: ${bad[0]!.body.slice(0, 100)}`,
        all.slice(0, 3).map(ref),
      ],
    }
  },
})

const count = step<{ model: string; beside: string }>('count')

const WORDS = 'many words of many kinds '.repeat(40)
/** Long texts that are added to a short prompt. */
const BESIDE: Readonly<Record<string, object>> = {
  nothing: {},
  'a system prompt': { system: WORDS },
  'a tool': { tools: [{ name: 'look', description: WORDS, input_schema: { type: 'object' } }] },
  'a result': {
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: WORDS }] },
    ],
  },
}
/** Minimum number of tokens in an added text, because each added text has at least this many words. */
const MIN_ADDED_TOKENS = 40
/** Count that the counting provider reports. */
const PROVIDER_COUNT = 4711

const numberIn = ({ body }: Exchange): number => Number(at(jsonOf(body), '/input_tokens'))

/** Returns the provider's token-count request. */
const provided = ({ ledger }: Evidence, { request }: Exchange) =>
  ledger.find(
    ({ kind, nonce, answer }) =>
      kind === 'token_count' && nonce === nonceIn(request.body ?? '') && answer.status === 200,
  )

check('CNT-02', {
  async exercise(session) {
    for (const model of modelsOf(session))
      for (const [beside, more] of Object.entries(BESIDE)) {
        const nonce = session.nonce()
        await session.mock.script(nonce, [{ kind: 'token_count', body: { input_tokens: PROVIDER_COUNT } }])
        const asked = { role: 'user', content: `Count. ${writeNonce(nonce)}` }
        const messages = 'messages' in more ? [asked, ...(more.messages as object[])] : [asked]
        await session.ask(count.with({ model, beside }), '/v1/messages/count_tokens', {
          method: 'POST',
          headers: session.callHeaders,
          body: JSON.stringify({ model, ...more, messages }),
        })
      }
  },
  judge: each(count, ({ exchange, quoted, evidence, waybill }) => {
    const entry = provided(evidence, exchange)
    const got = numberIn(exchange)
    const { model, beside } = exchange.details
    const plain = count
      .in(evidence)
      .find(({ details }) => details.model === model && details.beside === 'nothing')!
    const least = beside === 'nothing' ? 1 : numberIn(plain) + MIN_ADDED_TOKENS
    const mark = exchange.headers['x-gateway-token-count']
    const marked = !waybill || mark === (entry ? 'provider' : 'estimated')
    return {
      [entry ? 'as-the-provider-counts' : 'estimate-holds-all']: [
        exchange.status === 200 && (entry ? got === PROVIDER_COUNT : got >= least) && marked,
        `the tokens of ${quoted}`,
        `${entry ? `${PROVIDER_COUNT}, as the provider said` : `${least} or more`}${waybill ? ', and marked so' : ''}`,
        `${endText(exchange)}, ${Number.isNaN(got) ? 'no number' : got}${waybill ? `, marked ${mark ?? 'by nothing'}` : ''}`,
        refs(exchange, entry),
      ],
    }
  }),
})

const failing = { count: step('the count fails'), call: step('call') }

check('CNT-03', {
  needs: ['messages', 'logical'],
  async exercise(session) {
    const [table] = session.target.models.logical
    for (let n = 0; n < 3; n++) {
      const nonce = session.nonce()
      await session.mock.script(nonce, [{ kind: 'token_count', status: 500, refusal: 'synthetic 500' }])
      const messages = [{ role: 'user', content: `Count. ${writeNonce(nonce)}` }]
      await session.ask(failing.count, '/v1/messages/count_tokens', {
        method: 'POST',
        headers: session.callHeaders,
        body: JSON.stringify({ model: table!.id, messages }),
      })
    }
    await session.chat(failing.call, { model: table!.id })
  },
  judge({ evidence, target }) {
    const failed = failing.count
      .in(evidence)
      .flatMap(({ request }) =>
        evidence.ledger.filter(
          ({ nonce, answer }) => nonce === nonceIn(request.body ?? '') && answer.status === 500,
        ),
      )
    const first = where(target.models.logical[0]!.targets[0]!)
    return failing.call.in(evidence).map((exchange): Told => {
      const went = requestsOf(evidence, exchange).map(where)
      return {
        'target-is-not-passed-over': [
          failed.length > 0 && went.length === 1 && went[0] === first,
          `where a call went after ${failed.length} counts that the provider answered with 500`,
          `at least one of them, and then ${first}`,
          went.join(', ') || 'nowhere',
          [...failed, exchange].map(ref),
        ],
      }
    })
  },
})
