// Must-fail gateways for Messages and token counts. Each runs in its own dialect only.

import { isCount } from '../dialect-hooks.ts'
import { changeJson, type MustFail } from '../gateway.ts'

export const mustFail = {
  'failed-count-cools': {
    what: 'The gateway skips the first target of a route after a failed token count.',
    caughtBy: ['CNT-03'],
    hooks: () => {
      let counted = 0
      return {
        request(wanted) {
          if (isCount(wanted)) counted++
          else if (counted >= 3)
            wanted.body = Buffer.from(
              changeJson(wanted.body.toString('utf8'), (json) =>
                json.model === 'auto/claude' ? { ...json, model: 'anthropic/claude-haiku-4-5' } : json,
              ),
            )
        },
      }
    },
  },
} satisfies Record<string, MustFail>
