// Must-fail gateways that handle calls, errors or records wrongly if the provider has the client's dialect.

import { changeRequest, eachEvent, isMessages, isResponses } from '../dialect-hooks.ts'
import type { Json, MustFail } from '../gateway.ts'

export const mustFail = {
  'openai-headers-are-left-out': {
    what: 'Headers that begin with openai- do not reach a Responses provider.',
    caughtBy: ['DIAL-02@responses/unknown-parts-arrive'],
    hooks: {
      request({ headers }) {
        for (const name of Object.keys(headers)) if (name.startsWith('openai-')) delete headers[name]
      },
    },
  },
  'system-becomes-one-text': {
    what: 'The gateway joins the parts of a system prompt into one text for a Messages provider.',
    caughtBy: ['DIAL-01/same-body'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      ...(Array.isArray(json.system) && { system: json.system.map(({ text }: Json) => text).join('\n') }),
    })),
  },
  'thoughts-of-the-history-are-left-out': {
    what: 'Thinking blocks that are not followed by a tool call do not reach a Messages provider.',
    caughtBy: ['MSG-05/thoughts-go-back'],
    hooks: changeRequest(isMessages, (json) => ({
      ...json,
      messages: json.messages?.map((each: Json) =>
        Array.isArray(each.content) && !each.content.some(({ type }: Json) => type === 'tool_use')
          ? { ...each, content: each.content.filter(({ type }: Json) => type !== 'thinking') }
          : each,
      ),
    })),
  },
  'native-deltas-change-places': {
    what: 'Two deltas of an untranslated response are swapped but keep their sequence numbers.',
    caughtBy: ['FLOW-01@responses'],
    hooks: {
      event: eachEvent(isResponses, (json) =>
        json.type === 'response.output_text.delta' && json.delta.length > 1
          ? { ...json, delta: [...json.delta].reverse().join('') }
          : json,
      ),
    },
  },
} satisfies Record<string, MustFail>
