// COST-06: The tokens of a compaction inside a call are priced and counted in addition to the tokens of the answer.
import type { Check } from '../runner/check.ts'
import { judgeCosts, makeCalls } from './cost.ts'

export const compactionCosts = {
  id: 'COST-06',
  dialect: 'messages',
  needs: ['messages', 'cost', 'record'],
  timeout: 120_000,
  exercise: (session) => makeCalls(session, 'COST-06'),
  judge: (judging) => judgeCosts(judging, 'COST-06'),
} satisfies Check
