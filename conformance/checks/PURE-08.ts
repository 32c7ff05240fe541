// PURE-08: Over the whole run, each answered call counts as one inference, and each attempt that visibly failed
// adds one. A request that was refused for its form (400, 413, 422) is not repeated unchanged. An inference that
// belongs to no call and to no declared background activity fails this requirement, unless the provider refused it
// for its form.

import type { Check } from '../runner/check.ts'
import { auditLedger } from './ledger-audit.ts'

export const everyInferenceIsExplained = {
  id: 'PURE-08',
  overRun: true,
  judge: ({ all, target }) => auditLedger(all, target),
} satisfies Check
