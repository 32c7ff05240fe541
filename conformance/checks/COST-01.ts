// COST-01: The cost on record is the cost of the tokens that the provider reported, at the gateway's prices.
// Reasoning that is part of the output is counted once.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const tokensTimesPrices = {
  id: 'COST-01',
  needs: ['cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-01'),
  judge: (judging) => judgeCosts(judging, 'COST-01'),
} satisfies Check
