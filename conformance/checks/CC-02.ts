// CC-02: A system prompt that is a list reaches a provider of the Messages dialect as the same list, with the same
// entries, order and `cache_control`.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step('call with a system prompt')

const SYSTEM = [
  { type: 'text', text: 'x-example-header: a line that names the client; version=9.9.9' },
  { type: 'text', text: 'You are careful.', cache_control: { type: 'ephemeral' } },
  { type: 'text', text: 'Answer in one word.', cache_control: { type: 'ephemeral' } },
]

export const systemArrivesAsSent = {
  id: 'CC-02',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    await session.chat(call, { body: { system: SYSTEM } })
    await session.chat(call, { body: { system: SYSTEM }, stream: true })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const system = at(entry?.body, '/system')
      return finding(
        'system-is-the-same-list',
        isDeepStrictEqual(system, SYSTEM),
        'the system prompt at the provider',
        {
          expected: 'the same entries, in order, with their marks',
          actual: JSON.stringify(system)?.slice(0, 300) ?? 'none',
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
