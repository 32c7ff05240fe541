// COST-05: If the input of a call exceeds the threshold for long inputs, the prices for long inputs apply to all
// tokens of the call.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const longInputsCost = {
  id: 'COST-05',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-05'),
  judge: (judging) => judgeCosts(judging, 'COST-05'),
} satisfies Check
