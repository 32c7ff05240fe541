// CC-01: Every value of `anthropic-beta` reaches a provider of the Messages dialect with its spelling unchanged,
// and should keep its place in the list.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step('call with capabilities')

/** Values from later releases, so no gateway can have them in a list. They are not in alphabetical order. */
const VALUES = [
  'zebra-2031-02-03',
  'interleaved-thinking-2025-05-14',
  'alpha-one-2030-01-01',
  'x.y_z-2029-12-31',
]

const valuesIn = (header: string | undefined): string[] =>
  (header ?? '').split(',').map((value) => value.trim())

export const capabilitiesArrive = {
  id: 'CC-01',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    const { direct, logical, call: any } = session.target.models
    const ids = any !== undefined ? [any] : [...direct, ...logical].slice(0, 2).map(({ id }) => id)
    for (const model of ids)
      await session.chat(call, { model, headers: { 'anthropic-beta': VALUES.join(',') } })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (entry?.endpoint !== 'messages' && !entry?.endpoint.endsWith('/messages')) return []
      // A gateway may add its own values.
      const arrived = valuesIn(entry.headers['anthropic-beta']).filter((value) => VALUES.includes(value))
      const what = 'values of anthropic-beta at the provider'
      const compared = { expected: VALUES.join(', '), actual: listed(arrived) }
      const see = refs(exchange, entry)
      const inOrder = finding(
        'values-keep-their-order',
        isDeepStrictEqual(arrived, VALUES),
        what,
        compared,
        see,
      )
      return [
        finding(
          'values-arrive',
          VALUES.every((value) => arrived.includes(value)),
          what,
          compared,
          see,
        ),
        // The place of a value does not change its effect.
        { ...inOrder, advice: true },
      ]
    }),
} satisfies Check
