// Limits of a subscription, read from the headers of an answer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planLimitsIn } from './plan-limits.ts'

const ANTHROPIC = {
  'anthropic-ratelimit-unified-status': 'allowed_warning',
  'anthropic-ratelimit-unified-5h-utilization': '0.834',
  'anthropic-ratelimit-unified-5h-reset': '1795748400',
  'anthropic-ratelimit-unified-7d-utilization': '0.41',
}
const CODEX = {
  'x-codex-primary-used-percent': '12',
  'x-codex-primary-window-minutes': '300',
  'x-codex-primary-reset-at': '1795748400',
  'x-codex-secondary-used-percent': '3.6',
  'x-codex-secondary-window-minutes': '10080',
}

for (const [what, headers, said] of [
  ['Anthropic’s plan', ANTHROPIC, '5h 83 % (until 2026-11-27T03:00Z), 7d 41 %'],
  ['ChatGPT’s plan', CODEX, '5h 12 % (until 2026-11-27T03:00Z), 7d 4 %'],
  ['limits of a key', { 'x-ratelimit-remaining-requests': '3' }, null],
  ['a plan without numbers', { 'anthropic-ratelimit-unified-status': 'allowed' }, null],
  [
    'numbers that are none',
    {
      ...ANTHROPIC,
      'anthropic-ratelimit-unified-5h-utilization': '1e9',
      'anthropic-ratelimit-unified-7d-utilization': 'x',
    },
    null,
  ],
  [
    'a reset after the end of time',
    { ...CODEX, 'x-codex-primary-reset-at': '999999999999' },
    '5h 12 %, 7d 4 %',
  ],
] as const)
  test(`${what} reports these plan limits: ${said ?? 'none'}`, () => {
    assert.equal(planLimitsIn(headers), said)
  })
