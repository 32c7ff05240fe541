// USE-08: A cache hit costs 0, causes no inference, says `HIT`, and never crosses keys or differing requests;
// streamed it is a valid stream.
import { type Check, finding } from '../check.ts'
import { refs } from '../lookup.ts'
import { at, eventsOf, readChat } from '../reading.ts'
import { pairs } from './use.ts'

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
        'cache-says-hit-or-not',
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
        'hit-has-the-same-bytes',
        again.exchange.body === of('first').exchange.body,
        'the hit has the bytes of the first answer',
        refs(again.exchange),
      ),
      finding(
        'hit-costs-nothing',
        at(again.record, '/cost_usd') === 0 &&
          (at(again.record, '/saved_usd') as number) > 0 &&
          at(again.record, '/cache') === 'HIT',
        `on record: cost ${at(again.record, '/cost_usd')}, saved ${at(again.record, '/saved_usd')}`,
        refs(again.reading),
      ),
      finding(
        'streamed-hit-is-whole',
        usage === 1 && done === '[DONE]' && readChat(stream.exchange.body).content.length > 0,
        `the streamed hit: ${usage} usage, ends with ${done}`,
        refs(stream.exchange),
      ),
    ]
  },
} satisfies Check
