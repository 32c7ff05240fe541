// ROUTE-11: If `resolve` reports `deterministic`, its answer equals the next pick. Otherwise its probabilities
// match the observed shares.

import { refs, where } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { type Check, finding } from '../runner/check.ts'
import { N, ofModel, repeatedCall, resolveOf, resolveStep, shares, targets } from './route.ts'

const foretold = ({ body }: Exchange): string => {
  const json = jsonOf(body)
  return `${at(json, '/provider')}/${at(json, '/resolved_model')}`
}

export const resolveEqualsPick = {
  id: 'ROUTE-11',
  needs: ['variant:strategies'],
  timeout: 60_000,
  async exercise(session) {
    await session.another('strategies')
    for (const model of ['priority', 'round-robin', 'cheapest'])
      for (let n = 0; n < 6; n++) {
        await resolveOf(session, model)
        await session.chat(repeatedCall.with({ model }), { model })
      }
    await resolveOf(session, 'weighted')
    for (let done = 0; done < N; done += 20)
      await Promise.all(
        Array.from({ length: 20 }, () =>
          session.chat(repeatedCall.with({ model: 'weighted' }), { model: 'weighted' }),
        ),
      )
  },
  judge({ evidence }) {
    const exact = ['priority', 'round-robin', 'cheapest'].flatMap((model) => {
      const told = ofModel(resolveStep.in(evidence), model)
      const went = targets(evidence, ofModel(repeatedCall.in(evidence), model))
      return told.map((exchange, index) => {
        const ok = at(jsonOf(exchange.body), '/deterministic') === true && foretold(exchange) === went[index]
        return finding(
          'resolve-foretells',
          ok,
          `what resolve said of ${model}, before a call`,
          {
            expected: `${went[index] ?? 'nowhere'}, where it went, and deterministic`,
            actual: `${foretold(exchange)}${at(jsonOf(exchange.body), '/deterministic') === true ? ', and deterministic' : ''}`,
          },
          refs(exchange),
        )
      })
    })
    const [weighted] = ofModel(resolveStep.in(evidence), 'weighted')
    const candidates = (at(jsonOf(weighted!.body), '/candidates') ?? []) as {
      provider: string
      model: string
      probability: number
    }[]
    const expected = Object.fromEntries(candidates.map((each) => [where(each), each.probability]))
    return [
      ...exact,
      finding(
        'weighted-is-not-deterministic',
        candidates.length === 3 && at(jsonOf(weighted!.body), '/deterministic') === false,
        'what resolve says of weighted',
        {
          expected: 'not deterministic, 3 candidates',
          actual: `${at(jsonOf(weighted!.body), '/deterministic') === false ? 'not ' : ''}deterministic, ${candidates.length} candidates`,
        },
        refs(weighted),
      ),
      ...shares(evidence, 'weighted', expected),
    ]
  },
} satisfies Check
