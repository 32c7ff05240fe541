// COST-04: Searches that the provider made cost their fee.
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
