// COST-07: A cost that the provider itself reports is the cost on record.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const providersFigureCounts = {
  id: 'COST-07',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-07'),
  judge: (judging) => judgeCosts(judging, 'COST-07'),
} satisfies Check
