// The list is handy for debugging.
import { callIn, changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The list of calls shows the last prompt.',
  caughtBy: ['LOG-12'],
  start: (directory, env) => {
    let prompt = ''
    return referenceWith({
      request(wanted) {
        const call = callIn(wanted)
        if (call) prompt = JSON.stringify(call.messages)
      },
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs?')
          ? changeJson(body, (json) => ({ ...json, last_prompt: prompt }))
          : body,
    })(directory, env)
  },
} satisfies Fault
