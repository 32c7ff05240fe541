// Checks of usage: what the client reads, what is on record, and what a cache saves.

import { isDeepStrictEqual } from 'node:util'
import { delta } from '../../dialects/dialect.ts'
import {
  amountIn,
  providerDialectOf,
  readAnswer,
  readSent,
  recordIn,
  refs,
  requestIdOf,
  servedBy,
} from '../../dialects/lookup.ts'
import {
  difference,
  endText,
  type PlainStep,
  recordExchange,
  type Step,
  step,
} from '../../evidence/evidence.ts'
import { at, readEvents } from '../../evidence/reading.ts'
import { callEach, each, family, finding, type Told } from '../check.ts'
import { sameAs } from '../expect.ts'
import { CACHED, countsIn, countsText, INCLUDE, pairs, recordAfter, sides } from '../log/parts.ts'

const check = family()

const recorded = step<{ stream: boolean }>('call')

check('USE-02', {
  needs: ['log', 'record', 'tokens'],
  async exercise(session) {
    for (const stream of [false, true])
      for (const body of stream ? [{}, INCLUDE] : [{}]) {
        const exchange = await session.chat(recorded.with({ stream }), {
          stream,
          body,
          script: [{ scenario: 'usage-cached' }],
        })
        await session.record(exchange)
      }
  },
  judge: each(recorded, ({ exchange, quoted, evidence, target, waybill }) => {
    const reading = recordExchange(evidence, exchange)
    const { fields } = target.observability.log!
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const { entry, sent } = sides(evidence, exchange)
    // Waybill's interface uses JSON numbers.
    const recorded = [at(record, fields.input_tokens), at(record, fields.output_tokens)].map((count) =>
      waybill || count == null ? count : amountIn(count),
    )
    const reported = countsIn(sent).slice(0, 2)
    // Anthropic's input tokens exclude cached tokens, and a log may do the same.
    const fresh = amountIn(reported[0]) - amountIn(at(sent, CACHED) ?? 0)
    const said =
      !waybill && entry && providerDialectOf(entry).name === 'messages'
        ? [reported, [fresh, reported[1]]]
        : [reported]
    // A provider that was not asked for usage does not report it; other gateways may then count by
    // themselves.
    const ok =
      sent === null
        ? entry !== null && (!waybill || !recorded.some((count) => typeof count === 'number' && count > 0))
        : said.some((each) => isDeepStrictEqual(recorded, each))
    return {
      'usage-is-on-record': [
        ok,
        `the tokens on record of ${quoted}`,
        sent === null
          ? waybill
            ? 'none: none were reported'
            : 'anything: none were reported'
          : countsText(reported),
        countsText(recorded),
        refs(exchange, reading, entry),
      ],
    }
  }),
})

const asked = { askedFor: step('asked for'), notAskedFor: step('not asked for'), declined: step('declined') }

check('USE-03', {
  async exercise(session) {
    await session.chat(asked.askedFor, { stream: true, body: INCLUDE })
    await session.chat(asked.notAskedFor, { stream: true })
    await session.chat(asked.declined, { stream: true, body: { stream_options: { include_usage: false } } })
  },
  judge: [
    each(asked.askedFor, ({ exchange, evidence }) => {
      const { entry, got } = sides(evidence, exchange)
      return {
        'asked-for-is-delivered': [
          got !== null,
          'usage in a stream that asked for it with stream_options',
          'delivered',
          got === null ? 'not delivered' : 'delivered',
          refs(exchange, entry),
        ],
      }
    }),
    ({ evidence, waybill }) =>
      (waybill ? [...asked.notAskedFor.in(evidence), ...asked.declined.in(evidence)] : []).map(
        (exchange): Told => {
          const { entry, got } = sides(evidence, exchange)
          const [mine, theirs] = [readAnswer(exchange), readSent(entry)]
          const rest =
            mine.content === theirs.content &&
            mine.done === theirs.done &&
            mine.finish.length === theirs.finish.length
          return {
            'not-asked-for-is-withheld': [
              got === null && rest,
              `usage that was ${exchange.step}`,
              'withheld, and everything else there',
              `${got === null ? 'withheld' : 'delivered'}, and everything else ${rest ? '' : 'not '}there`,
              refs(exchange, entry),
            ],
          }
        },
      ),
  ],
})

const call = step<{ scenario: string }>('call')

check('USE-04', {
  async exercise(session) {
    for (const scenario of ['usage-missing', 'usage-zero'])
      for (const stream of [false, true])
        await recordAfter(session, call.with({ scenario }), { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }): Told => {
      const { scenario } = exchange.details
      const counts = ['input', 'output'].map((name) => at(record, `/tokens/${name}`))
      const expected = scenario === 'usage-zero' ? 0 : null
      return {
        'unknown-is-null-zero-is-0': [
          record !== undefined && counts.every((count) => count === expected),
          `the tokens on record after ${scenario}`,
          countsText([expected ?? 'null', expected ?? 'null']),
          countsText(counts.map((count) => (count === null ? 'null' : count))),
          refs(exchange, reading),
        ],
      }
    }),
})

/**
 * Prices in US dollars per million tokens. If the price depends on the length of a request, these are the
 * prices for short requests such as these calls.
 */
type Rate = number | { readonly base: number }
type Rates = Readonly<Record<string, Rate | undefined>>

const rateIn = (rate: Rate | undefined): number | undefined => (typeof rate === 'object' ? rate.base : rate)

check('USE-05', {
  async exercise(session) {
    for (const scenario of ['usage-cached', 'reasoning'])
      for (const stream of [false, true])
        await recordAfter(session, call.with({ scenario }), { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    pairs(evidence, call.in(evidence)).map(({ exchange, reading, record }): Told => {
      const entry = servedBy(evidence, exchange)
      const usage = readSent(entry).usage.at(-1)
      const cached = at(usage, '/prompt_tokens_details/cached_tokens')
      const reasoning = at(usage, '/completion_tokens_details/reasoning_tokens')
      const input = at(usage, '/prompt_tokens') as number
      const output = at(usage, '/completion_tokens') as number
      const kept =
        at(record, '/tokens/cached_input') === cached && at(record, '/tokens/reasoning') === reasoning
      const rates = at(record, '/price/rates') as Rates | undefined
      const fresh = input - (cached as number)
      const expected = rates
        ? (fresh * rateIn(rates.input_mtok)! +
            (cached as number) * (rateIn(rates.cache_read_mtok) ?? rateIn(rates.input_mtok)!) +
            output * rateIn(rates.output_mtok)!) /
          1e6
        : Number.NaN
      const cost = at(record, '/cost_usd') as number
      const priced = Math.abs(cost - expected) < 1e-12
      return {
        'kinds-are-kept-apart': [
          kept && priced,
          `tokens by kind and cost on record after ${exchange.details.scenario}`,
          `cached ${cached}, reasoning ${reasoning}, cost by its own price ${expected}`,
          `cached ${at(record, '/tokens/cached_input')}, reasoning ${at(record, '/tokens/reasoning')}, cost ${cost}`,
          refs(exchange, reading, entry),
        ],
      }
    }),
})

const halfWay = { cut: step('cut'), left: step('left') }

check('USE-07', {
  hostile: true,
  async exercise(session) {
    await recordAfter(session, halfWay.cut, { stream: true, script: [{ scenario: 'cut-after-4' }] })
    const gate = session.nonce()
    const words = 'one two three four five six seven eight nine ten '
    const call = await session.openChat(halfWay.left, {
      stream: true,
      script: [{ events: [delta(words), { gate }] }],
    })
    await call.says('ten')
    call.leave()
    const exchange = await call.done
    await session.record(exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge: ({ evidence }) =>
    pairs(evidence, [...halfWay.cut.in(evidence), ...halfWay.left.in(evidence)]).map(
      ({ exchange, reading, record }): Told => {
        const [input, output, source] = ['input', 'output', 'source'].map((name) =>
          at(record, `/tokens/${name}`),
        )
        // Output may be 0 tokens if the client left before any text arrived.
        const least = readAnswer(exchange).content === '' ? 0 : 1
        const ok =
          source === 'estimated' &&
          typeof input === 'number' &&
          input > 0 &&
          typeof output === 'number' &&
          output >= least
        return {
          'half-way-is-marked': [
            ok,
            `the tokens on record of a call that was ${exchange.step}`,
            `input above 0, output of at least ${least}, estimated`,
            `${countsText([input, output])}, ${source ?? 'of no source'}`,
            refs(exchange, reading),
          ],
        }
      },
    ),
})

const cached = {
  first: step('first'),
  again: step('again'),
  otherKey: step('other key'),
  otherRequest: step('other request'),
  noStore: step('no-store'),
  firstStream: step('first stream'),
  streamAgain: step('stream again'),
}

check('USE-08', {
  needs: ['cache', 'variant:cache'],
  timeout: 60_000,
  async exercise(session) {
    const { keys } = await session.another('cache')
    const model = session.target.capabilities.cache!.model
    const body = { messages: [{ role: 'user', content: `cached ${session.nonce()}` }] }
    const ask = async (step: Step, more: object = {}, options: object = {}) => {
      const exchange = await session.chat(step, { model, body: { ...body, ...more }, ...options })
      await session.record(exchange)
    }
    await ask(cached.first)
    await ask(cached.again)
    await ask(cached.otherKey, {}, { key: keys.other })
    await ask(cached.otherRequest, { temperature: 0.1 })
    await ask(cached.noStore, {}, { headers: { 'cache-control': 'no-store' } })
    for (const step of [cached.firstStream, cached.streamAgain])
      await ask(step, { stream_options: { include_usage: true } }, { stream: true })
  },
  judge({ evidence }) {
    const of = (step: PlainStep) => pairs(evidence, step.in(evidence))[0]!
    const hit = (step: PlainStep, expected: 'HIT' | 'MISS' | 'BYPASS', inferences: number) => {
      const { exchange, reading } = of(step)
      const between = evidence.ledger.filter(
        ({ at: time, kind }) => kind === 'inference' && time >= exchange.at && time <= exchange.end_at,
      )
      const said = exchange.headers['x-gateway-cache']
      return finding(
        'cache-says-hit-or-not',
        exchange.status === 200 && said === expected && between.length === inferences,
        `the cache header and the inferences of the call "${step.step}"`,
        {
          expected: `200, ${expected}, inferences: ${inferences}`,
          actual: `${endText(exchange)}, ${said ?? 'no header'}, inferences: ${between.length}`,
        },
        refs(exchange, reading),
      )
    }
    const again = of(cached.again)
    const stream = of(cached.streamAgain)
    const usage = readAnswer(stream.exchange).usage.length
    const done = readEvents(stream.exchange.body).at(-1)?.data
    return [
      hit(cached.first, 'MISS', 1),
      hit(cached.again, 'HIT', 0),
      hit(cached.otherKey, 'MISS', 1),
      hit(cached.otherRequest, 'MISS', 1),
      hit(cached.noStore, 'BYPASS', 1),
      hit(cached.streamAgain, 'HIT', 0),
      {
        'hit-has-the-same-bytes': [
          again.exchange.body === of(cached.first).exchange.body,
          'the bytes of the hit',
          'those of the first answer',
          difference(again.exchange.body, of(cached.first).exchange.body),
          refs(again.exchange),
        ],
        'hit-costs-nothing': [
          at(again.record, '/cost_usd') === 0 &&
            (at(again.record, '/saved_usd') as number) > 0 &&
            at(again.record, '/cache') === 'HIT',
          'the record of the hit',
          'HIT, cost 0, saved more than 0',
          `${at(again.record, '/cache')}, cost ${at(again.record, '/cost_usd')}, saved ${at(again.record, '/saved_usd')}`,
          refs(again.reading),
        ],
        'streamed-hit-is-whole': [
          usage === 1 && done === '[DONE]' && readAnswer(stream.exchange).content.length > 0,
          'the hit as a stream',
          'content, 1 usage, [DONE]',
          `${readAnswer(stream.exchange).content.length} characters, ${usage} usage, ${done}`,
          refs(stream.exchange),
        ],
      },
    ]
  },
})

const SAME = ['plain', 'usage-cached', 'reasoning']
const streamed = step<{ scenario: string }>('streamed call')

check('USE-01', {
  exercise: [
    callEach(call, { scenario: SAME }, ({ scenario }) => ({ script: [{ scenario }] })),
    callEach(streamed, { scenario: SAME }, ({ scenario }) => ({
      stream: true,
      body: INCLUDE,
      script: [{ scenario }],
    })),
  ],
  judge: each([call, streamed], (looked) => sameAs('same-usage', 'usage', looked)),
})
