// Must-fail gateways for the checks of CC.

import { changeRequest, isMessages } from '../dialect-hooks.ts'
import type { MustFail } from '../gateway.ts'

const profile = 'claude-code'

export const mustFail = {
  'capabilities-are-filtered': {
    what: 'The gateway drops unknown anthropic-beta values.',
    profile,
    caughtBy: ['CC-01/values-arrive'],
    hooks: {
      request({ headers }) {
        const values = String(headers['anthropic-beta'] ?? '').split(',')
        if (headers['anthropic-beta'])
          headers['anthropic-beta'] = values.filter((each) => /202/.test(each)).join(',')
      },
    },
  },
  'capabilities-are-sorted': {
    what: 'The gateway sorts the anthropic-beta values.',
    profile,
    caughtBy: ['CC-01/values-keep-their-order'],
    hooks: {
      request({ headers }) {
        const beta = headers['anthropic-beta']
        if (beta) headers['anthropic-beta'] = String(beta).split(',').sort().join(',')
      },
    },
  },
  'system-becomes-a-text': {
    what: 'The gateway joins the entries of a system prompt into one text.',
    profile,
    caughtBy: ['CC-02/system-is-the-same-list'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      system: Array.isArray(json.system) ? json.system.map(({ text }) => text).join('\n') : json.system,
    })),
  },
  'discovery-redirects': {
    what: 'The model list redirects to another path.',
    profile,
    caughtBy: ['CC-03/list-comes-in-time'],
    hooks: {
      request: ({ path }) =>
        path.startsWith('/v1/models?')
          ? { status: 307, headers: { location: '/v1/models' }, body: '' }
          : undefined,
    },
  },
} satisfies Readonly<Record<string, MustFail>>
