// Gateways that hand on the answers of deviating providers in their own way.
import { type Json, type MustPass, onEvent } from '../gateway.ts'

const KNOWN = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call']

export const mustPass = {
  'failed-ends-become-errors': {
    what: 'A chunk with a finish reason that OpenAI does not have becomes an event with an error.',
    hooks: {
      event: onEvent((json) => {
        const reasons: unknown[] = json.choices?.map?.((choice: Json) => choice.finish_reason) ?? []
        return reasons.every((reason) => !reason || KNOWN.includes(String(reason)))
          ? json
          : { error: { message: 'the provider failed', type: 'server_error', param: null, code: null } }
      }),
    },
  },
  'odd-labels-are-refused': {
    what: 'A stream of a provider that is labelled as text, or not at all, is refused with an error.',
    hooks: {
      upstream: {
        responseStart(start) {
          const type = start.headers['content-type'] ?? ''
          if (start.status === 200 && /^(text\/plain.*)?$/.test(String(type))) start.status = 502
        },
      },
    },
  },
} satisfies Record<string, MustPass>
