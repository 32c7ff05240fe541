// Must-fail gateways that mishandle threads and other objects that a provider stores and a request only
// names.

import { nonceIn } from '../../../mocks/ledger.ts'
import { changeRequest, isMessages, withoutMember } from '../dialect-hooks.ts'
import { changeJson, type Json, type MustFail } from '../gateway.ts'

const GROQ = 'groq/openai/gpt-oss-120b'

export const mustFail = {
  'threads-are-passed-on-as-they-are': {
    what: 'A chat provider receives the field thread as an unknown field, without the earlier turns.',
    caughtBy: ['STATE-02/no-turn-loses-its-history'],
    hooks: () => {
      const threads = new Map<string, Json>()
      return {
        ...changeRequest(isMessages, (json) => {
          const nonce = nonceIn(JSON.stringify(json.messages))
          if (json.model !== GROQ || !json.thread || nonce === null) return json
          threads.set(nonce, json.thread)
          return withoutMember(json, 'thread')
        }),
        upstream: {
          request(wanted) {
            const thread = threads.get(nonceIn(wanted.body.toString('utf8')) ?? '')
            if (thread)
              wanted.body = Buffer.from(
                changeJson(wanted.body.toString('utf8'), (json) => ({ ...json, thread })),
              )
          },
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
