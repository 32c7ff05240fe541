// COST-04: The cost on record includes the fee for each search that the provider made.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const searchesCost = {
  id: 'COST-04',
  dialect: 'messages',
  needs: ['messages', 'cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-04'),
  judge: (judging) => judgeCosts(judging, 'COST-04'),
} satisfies Check
