// USE-08: A cache hit costs 0, causes no inference, reports `HIT`, and is never given to another key or for a
// different request. A streamed hit is a valid stream.

import { refs } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { at, readEvents } from '../evidence/reading.ts'
import { type PlainStep, type Step, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { pairs } from './use.ts'

const steps = {
  first: step('first'),
  again: step('again'),
  otherKey: step('other key'),
  otherRequest: step('other request'),
  noStore: step('no-store'),
  firstStream: step('first stream'),
  streamAgain: step('stream again'),
}

export const cacheIsFreeAndPrivate = {
  id: 'USE-08',
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
    await ask(steps.first)
    await ask(steps.again)
    await ask(steps.otherKey, {}, { key: keys.other })
    await ask(steps.otherRequest, { temperature: 0.1 })
    await ask(steps.noStore, {}, { headers: { 'cache-control': 'no-store' } })
    for (const step of [steps.firstStream, steps.streamAgain])
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
          expected: `200, ${expected}, ${inferences}`,
          actual: `${endText(exchange)}, ${said}, ${between.length}`,
        },
        refs(exchange, reading),
      )
    }
    const again = of(steps.again)
    const stream = of(steps.streamAgain)
    const usage = readAnswer(stream.exchange).usage.length
    const done = readEvents(stream.exchange.body).at(-1)?.data
    return [
      hit(steps.first, 'MISS', 1),
      hit(steps.again, 'HIT', 0),
      hit(steps.otherKey, 'MISS', 1),
      hit(steps.otherRequest, 'MISS', 1),
      hit(steps.noStore, 'BYPASS', 1),
      hit(steps.streamAgain, 'HIT', 0),
      finding(
        'hit-has-the-same-bytes',
        again.exchange.body === of(steps.first).exchange.body,
        'the bytes of the hit',
        {
          expected: 'those of the first answer',
          actual: again.exchange.body === of(steps.first).exchange.body ? 'those' : 'others',
        },
        refs(again.exchange),
      ),
      finding(
        'hit-costs-nothing',
        at(again.record, '/cost_usd') === 0 &&
          (at(again.record, '/saved_usd') as number) > 0 &&
          at(again.record, '/cache') === 'HIT',
        'the record of the hit',
        {
          expected: 'HIT, cost 0, saved more than 0',
          actual: `${at(again.record, '/cache')}, cost ${at(again.record, '/cost_usd')}, saved ${at(again.record, '/saved_usd')}`,
        },
        refs(again.reading),
      ),
      finding(
        'streamed-hit-is-whole',
        usage === 1 && done === '[DONE]' && readAnswer(stream.exchange).content.length > 0,
        'the hit as a stream',
        {
          expected: 'content, 1 usage, [DONE]',
          actual: `${readAnswer(stream.exchange).content.length} characters, ${usage} usage, ${done}`,
        },
        refs(stream.exchange),
      ),
    ]
  },
} satisfies Check
