// PURE-08: Over the whole run, each answered call is one inference, plus one for each attempt that visibly failed; an
// inference that belongs to neither a call nor declared background activity is a failure.
import { account } from '../account.ts'
import type { Check } from '../check.ts'

export const everyInferenceIsExplained = {
  id: 'PURE-08',
  overRun: true,
  judge: ({ all, target }) => account(all, target),
} satisfies Check
