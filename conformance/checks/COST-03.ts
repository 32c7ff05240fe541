// COST-03: The cost on record uses the prices of the tier, speed and region that the answer names, even if the
// request names different ones.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const costAsServed = {
  id: 'COST-03',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-03'),
  judge: (judging) => judgeCosts(judging, 'COST-03'),
} satisfies Check
