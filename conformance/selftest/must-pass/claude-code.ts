// Unusual but correct gateways for the checks of CC.

import { changeRequest, isMessages } from '../dialect-hooks.ts'
import type { MustPass } from '../gateway.ts'

export const mustPass = {
  'capabilities-are-added-to': {
    what: "The gateway adds its own capability before the client's, and writes the list with spaces.",
    profile: 'claude-code',
    hooks: {
      request({ headers }) {
        const beta = headers['anthropic-beta']
        if (beta) headers['anthropic-beta'] = ['own-2026-01-01', ...String(beta).split(',')].join(', ')
      },
    },
  },
  'bodies-are-written-again': {
    what: 'The gateway parses bodies and writes them again with their members in another order.',
    profile: 'claude-code',
    mayWarn: ['DIAL-01'],
    hooks: changeRequest(isMessages, ({ model, ...more }) => ({ ...more, model })),
  },
} satisfies Readonly<Record<string, MustPass>>
