// USE, this interface only: what is not known, what is counted apart, what was left half-way, what the cache saved.
import { type Check, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { labelled, refs, requestsOf, servedBy } from '../lookup.ts'
import { at, eventsOf, jsonOf, readChat } from '../reading.ts'
import { delta } from '../scripted.ts'
import type { Session } from '../session.ts'

const recordAfter = async (session: Session, label: string, options: Parameters<Session['chat']>[1]) => {
  const exchange = await session.chat(label, options)
  await session.record(`record of #${exchange.n}`, exchange)
  return exchange
}

/** The calls of a label, each with its record. */
const pairs = (evidence: Evidence, label: string) =>
  labelled(evidence, label).map((exchange) => {
    const [reading] = labelled(evidence, `record of #${exchange.n}`)
    return { exchange, reading, record: jsonOf(reading?.body ?? '') }
  })

export const unknownIsNull = {
  id: 'USE-04',
  async exercise(session) {
    for (const scenario of ['usage-missing', 'usage-zero'])
      for (const stream of [false, true])
        await recordAfter(session, scenario, { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    ['usage-missing', 'usage-zero'].flatMap((scenario) =>
      pairs(evidence, scenario).map(({ exchange, reading, record }) => {
        const counts = ['input', 'output'].map((name) => at(record, `/tokens/${name}`))
        const expected = scenario === 'usage-zero' ? 0 : null
        return finding(
          record !== undefined && counts.every((count) => count === expected),
          `${scenario}: ${counts.join(' / ')} on record`,
          refs(exchange, reading),
        )
      }),
    ),
} satisfies Check

export const tokenKinds = {
  id: 'USE-05',
  async exercise(session) {
    for (const scenario of ['usage-cached', 'reasoning'])
      for (const stream of [false, true])
        await recordAfter(session, scenario, { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    ['usage-cached', 'reasoning'].flatMap((scenario) =>
      pairs(evidence, scenario).map(({ exchange, reading, record }) => {
        const entry = servedBy(evidence, exchange)
        const usage = readChat(entry?.answer.body ?? '').usage.at(-1)
        const cached = at(usage, '/prompt_tokens_details/cached_tokens')
        const reasoning = at(usage, '/completion_tokens_details/reasoning_tokens')
        const input = at(usage, '/prompt_tokens') as number
        const output = at(usage, '/completion_tokens') as number
        const kept =
          at(record, '/tokens/cached_input') === cached && at(record, '/tokens/reasoning') === reasoning
        const rates = at(record, '/price/rates') as Record<string, number> | undefined
        const fresh = input - (cached as number)
        const expected = rates
          ? (fresh * rates.input_mtok! +
              (cached as number) * (rates.cache_read_mtok ?? rates.input_mtok!) +
              output * rates.output_mtok!) /
            1e6
          : Number.NaN
        const cost = at(record, '/cost_usd') as number
        const priced = Math.abs(cost - expected) < 1e-12
        return finding(
          kept && priced,
          `${scenario}: cached ${at(record, '/tokens/cached_input')} of ${cached}, reasoning ${at(record, '/tokens/reasoning')} of ${reasoning}; cost ${cost}, by its own price ${expected}`,
          refs(exchange, reading, entry),
        )
      }),
    ),
} satisfies Check

export const halfWay = {
  id: 'USE-07',
  hostile: true,
  async exercise(session) {
    await recordAfter(session, 'cut', { stream: true, script: [{ scenario: 'cut-after-4' }] })
    const gate = session.nonce()
    const words = 'one two three four five six seven eight nine ten '
    const call = await session.openChat('left', {
      stream: true,
      script: [{ events: [delta(words), { gate }] }],
    })
    await call.until((body) => body.includes('ten'), 5_000)
    call.leave()
    const exchange = await call.done
    await session.record(`record of #${exchange.n}`, exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge: ({ evidence }) =>
    ['cut', 'left'].flatMap((label) =>
      pairs(evidence, label).map(({ exchange, reading, record }) => {
        const [input, output, source] = ['input', 'output', 'source'].map((name) =>
          at(record, `/tokens/${name}`),
        )
        const ok =
          source === 'estimated' &&
          typeof input === 'number' &&
          input > 0 &&
          typeof output === 'number' &&
          output > 0
        return finding(
          ok,
          `${label}: ${input} / ${output} tokens, ${source ?? 'of no source'}`,
          refs(exchange, reading),
        )
      }),
    ),
} satisfies Check

export const cacheIsFreeAndPrivate = {
  id: 'USE-08',
  needs: ['cache', 'variant:cache'],
  timeout: 60_000,
  async exercise(session) {
    const { keys } = await session.another('cache')
    const model = session.target.capabilities.cache!.model
    const body = { messages: [{ role: 'user', content: `cached ${session.nonce()}` }] }
    const ask = async (label: string, more: object = {}, options: object = {}) => {
      const exchange = await session.chat(label, { model, body: { ...body, ...more }, ...options })
      await session.record(`record of #${exchange.n}`, exchange)
    }
    await ask('first')
    await ask('again')
    await ask('other key', {}, { key: keys.other })
    await ask('other request', { temperature: 0.1 })
    await ask('no-store', {}, { headers: { 'cache-control': 'no-store' } })
    const streamed = { stream: true, body: { ...body, stream_options: { include_usage: true } } }
    await ask('first stream', { stream_options: { include_usage: true } }, { stream: true })
    await ask('stream again', { stream_options: { include_usage: true } }, { stream: true })
    session.note('streamed', streamed)
  },
  judge({ evidence }) {
    const of = (label: string) => pairs(evidence, label)[0]!
    const hit = (label: string, expected: 'HIT' | 'MISS' | 'BYPASS', inferences: number) => {
      const { exchange, reading } = of(label)
      const between = evidence.ledger.filter(
        ({ at: time, kind }) => kind === 'inference' && time >= exchange.at && time <= exchange.end_at,
      )
      const said = exchange.headers['x-gateway-cache']
      return finding(
        exchange.status === 200 && said === expected && between.length === inferences,
        `${label}: ${said}, ${between.length} inferences`,
        refs(exchange, reading),
      )
    }
    const again = of('again')
    const stream = of('stream again')
    const usage = readChat(stream.exchange.body).usage.length
    const done = eventsOf(stream.exchange.body).at(-1)?.data
    return [
      hit('first', 'MISS', 1),
      hit('again', 'HIT', 0),
      hit('other key', 'MISS', 1),
      hit('other request', 'MISS', 1),
      hit('no-store', 'BYPASS', 1),
      hit('stream again', 'HIT', 0),
      finding(
        again.exchange.body === of('first').exchange.body,
        'the hit has the bytes of the first answer',
        refs(again.exchange),
      ),
      finding(
        at(again.record, '/cost_usd') === 0 &&
          (at(again.record, '/saved_usd') as number) > 0 &&
          at(again.record, '/cache') === 'HIT',
        `on record: cost ${at(again.record, '/cost_usd')}, saved ${at(again.record, '/saved_usd')}`,
        refs(again.reading),
      ),
      finding(
        usage === 1 && done === '[DONE]' && readChat(stream.exchange.body).content.length > 0,
        `the streamed hit: ${usage} usage, ends with ${done}`,
        refs(stream.exchange),
      ),
      finding(requestsOf(evidence, again.exchange).length === 0, 'no request carried its nonce'),
    ]
  },
} satisfies Check
