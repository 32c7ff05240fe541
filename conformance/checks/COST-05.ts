// COST-05: All tokens of a call whose input exceeds the line for long inputs cost the prices for long inputs.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const longInputsCost = {
  id: 'COST-05',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-05'),
  judge: (judging) => judgeCosts(judging, 'COST-05'),
} satisfies Check
