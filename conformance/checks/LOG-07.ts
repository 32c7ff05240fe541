// LOG-07: Every inference in the ledger maps to exactly one attempt on record with the same provider and model.
// Every attempt on record maps back to an inference, unless it never reached the provider or was given up before
// the provider answered.

import {
  namesModel,
  namesProvider,
  recordIn,
  refs,
  requestIdOf,
  requestsOf,
  where,
} from '../dialects/lookup.ts'
import { scriptedFailure } from '../dialects/scripted.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'
import type { ChatOptions } from '../runner/context.ts'
import { breakStream, leaveStream } from './log.ts'

const steps = {
  call: step('call'),
}

export const nothingUnrecorded = {
  id: 'LOG-07',
  needs: ['log', 'record', 'attempts'],
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)
    const model = route?.id ?? session.model
    const calls = await Promise.all(
      [1, 2, 3, 4].map((n) => session.chat(steps.call, { model, stream: n % 2 === 0 })),
    )
    const failing: ChatOptions[] = [
      { script: [scriptedFailure(500), { scenario: 'plain' }] },
      { script: [scriptedFailure(500)] },
      { script: [{ scenario: '400' }] },
    ]
    for (const options of failing) {
      calls.push(await session.chat(steps.call, { model, ...options }))
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    const broken = await breakStream(session, steps.call, { model, ending: { end: 'cut' } })
    await session.record(broken.exchange) // before the next call, because a record may be found only as the one new one
    await session.wait(session.target.capabilities.cooldown_ms)
    calls.push(await leaveStream(session, steps.call))
    await session.drain()
    for (const exchange of calls) await session.record(exchange)
  },
  judge: ({ evidence, target }) =>
    steps.call.in(evidence).map((exchange) => {
      const reading = recordExchange(evidence, exchange)
      const { attempts, unsure_outcomes } = target.observability.log!
      const id = requestIdOf(target, exchange)
      if (id === null && exchange.status === null)
        return doubt(
          'has-attempts',
          'The connection of a call ended before anything of its answer came, so its record cannot be looked up.',
          refs(exchange),
        )
      const record = recordIn(target, reading, id ?? '')
      const list = at(record, attempts!.list)
      const entries = requestsOf(evidence, exchange)
      if (!Array.isArray(list))
        return finding(
          'has-attempts',
          false,
          'attempts on record',
          { expected: `a list, for ${entries.length} inferences`, actual: 'none' },
          refs(exchange, reading, ...entries),
        )
      const left = [...list]
      const unrecorded = entries.filter((entry) => {
        const index = left.findIndex(
          (each) =>
            namesProvider(target, entry.provider, at(each, attempts!.provider)) &&
            namesModel(target, entry.provider, entry.model, at(each, attempts!.model)),
        )
        if (index >= 0) left.splice(index, 1)
        return index < 0
      })
      const surplus = left.filter((each) => !unsure_outcomes.includes(String(at(each, attempts!.outcome))))
      return finding(
        'attempts-match-inferences',
        entries.length > 0 && unrecorded.length === 0 && surplus.length === 0,
        'attempts on record',
        {
          expected: `one for each of ${entries.length} inferences`,
          actual: `${list.length}; not on record: ${listed(unrecorded.map(where))}; on record only: ${surplus.length}`,
        },
        refs(exchange, reading, ...entries),
      )
    }),
} satisfies Check
