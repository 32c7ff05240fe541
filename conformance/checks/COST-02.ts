// COST-02: Input that was read from or written to a cache costs as much as the provider bills. The price of a write
// depends on the time for which the input was written.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const cachedTokensCost = {
  id: 'COST-02',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-02'),
  judge: (judging) => judgeCosts(judging, 'COST-02'),
} satisfies Check
