// Must-fail gateways with mistakes in translated calls only: in the client's answer, or in the provider's
// request. Also contains gateways that lose a part of a native request.

import { changeRequest, eachResult, isMessages } from '../dialect-hooks.ts'
import { changeEvent, type Json, type MustFail } from '../gateway.ts'
import { toChat } from '../translated-hooks.ts'

export const mustFail = {
  'each-chunk-has-an-id': {
    what: 'Each chunk of a chat stream has a different id.',
    caughtBy: ['DIAL-12/ids-stay'],
    hooks: {
      event: (event, index) =>
        changeEvent(event, (json) => (json.choices ? { ...json, id: `chatcmpl-${index}` } : json)),
    },
  },
  'last-result-for-all': {
    what: 'Each tool call in a translated Messages call receives the last tool call’s result.',
    caughtBy: ['DIAL-13@messages/results-arrive'],
    hooks: changeRequest(toChat(isMessages), (json) => {
      const parts: Json[] = json.messages?.flatMap(({ content }: Json) => content) ?? []
      const last = parts.findLast((part) => part?.type === 'tool_result')?.content
      return eachResult(json, (result) => ({ ...result, content: last }))
    }),
  },
} satisfies Record<string, MustFail>
