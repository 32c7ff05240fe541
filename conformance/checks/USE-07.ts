// USE-07: A call that breaks off half-way is recorded with the reported tokens, or with an estimate marked as such.

import { refs } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { delta } from '../dialects/scripted.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { pairs, recordAfter } from './use.ts'

const steps = {
  cut: step('cut'),
  left: step('left'),
}

export const halfWay = {
  id: 'USE-07',
  hostile: true,
  async exercise(session) {
    await recordAfter(session, steps.cut, { stream: true, script: [{ scenario: 'cut-after-4' }] })
    const gate = session.nonce()
    const words = 'one two three four five six seven eight nine ten '
    const call = await session.openChat(steps.left, {
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
    pairs(evidence, [...steps.cut.in(evidence), ...steps.left.in(evidence)]).map(
      ({ exchange, reading, record }) => {
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
        return finding(
          'half-way-is-marked',
          ok,
          `the tokens on record of a call that was ${exchange.step}`,
          {
            expected: `some / ${least ? 'some' : 'any'}, estimated`,
            actual: `${input} / ${output}, ${source ?? 'of no source'}`,
          },
          refs(exchange, reading),
        )
      },
    ),
} satisfies Check
