// COST-02: Input that was read from a cache or written to one costs what the provider bills for it, by the time for
// which it was written.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const cachedTokensCost = {
  id: 'COST-02',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-02'),
  judge: (judging) => judgeCosts(judging, 'COST-02'),
} satisfies Check
