// COST-06: A compaction inside a call costs its tokens, which are counted in addition to those of the answer.
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
