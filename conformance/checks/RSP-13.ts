// RSP-13: Cached and reasoning tokens are recorded.

import { servedBy } from '../dialects/lookup.ts'
import { readSent } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import type { Check } from '../runner/check.ts'
import { recordAfter, tokensOnRecord } from './use.ts'

const call = step<{ scenario: string; stream: boolean }>('call')

export const kindsOnRecord = {
  id: 'RSP-13',
  needs: ['responses', 'record'],
  dialect: 'responses',
  async exercise(session) {
    for (const scenario of ['usage-cached', 'reasoning'])
      for (const stream of [false, true])
        await recordAfter(session, call.with({ scenario, stream }), { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const told = readSent(servedBy(evidence, exchange)).usage.at(-1)
      const count = (pointer: string) => (at(told, pointer) as number | undefined) ?? null
      return tokensOnRecord('kinds-are-recorded', evidence, exchange, {
        cached_input: count('/prompt_tokens_details/cached_tokens'),
        reasoning: count('/completion_tokens_details/reasoning_tokens'),
      })
    }),
} satisfies Check
