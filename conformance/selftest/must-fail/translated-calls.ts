// Must-fail gateways that translate a call wrongly. The client's request is changed before the gateway
// receives it, which has the same effect on the provider's request.

import { changeRequest, isMessages } from '../dialect-hooks.ts'
import type { Json, MustFail } from '../gateway.ts'
import { toChat } from '../translated-hooks.ts'

/** Changes existing members. */
const set =
  (name: string, change: (value: unknown) => unknown) =>
  (json: Json): Json =>
    json[name] === undefined ? json : { ...json, [name]: change(json[name]) }

const ofMessages = (change: (body: Json) => object) => changeRequest(toChat(isMessages), change)

export const mustFail = {
  'words-beside-calls-are-lost': {
    what: 'A translated Messages call loses the texts in earlier assistant turns that contain tool calls.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: ofMessages(
      set('messages', (messages) =>
        (messages as Json[]).map((each) =>
          Array.isArray(each.content) && each.content.some(({ type }: Json) => type === 'tool_use')
            ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'text') }
            : each,
        ),
      ),
    ),
  },
} satisfies Record<string, MustFail>
