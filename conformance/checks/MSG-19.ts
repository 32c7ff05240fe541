// MSG-19: If the system prompt begins with a line that names the client, this line reaches providers of the
// Messages dialect unchanged, and reaches no other provider.

import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { callPerModel, LINE } from './MSG-18.ts'

export const clientLine = {
  id: 'MSG-19',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'MSG-18',
  judge: ({ evidence }) =>
    callPerModel.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const crossed = entry !== null && isCrossed(exchange, entry)
      const there = JSON.stringify(entry?.body ?? null).includes(LINE)
      return finding(
        'client-line-goes-home-only',
        entry !== null && there !== crossed,
        `the line that names the client, in the provider's request of "${stepText(exchange)}"`,
        {
          expected: crossed ? 'none, it speaks another dialect' : 'as it was sent',
          actual: there ? 'as it was sent' : 'none',
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
