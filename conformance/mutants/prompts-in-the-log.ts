// The list is handy for debugging.
import { bent, callIn, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The list of calls shows the last prompt.',
  kills: ['LOG-12'],
  start: (directory, env) => {
    let prompt = ''
    return bent({
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
} satisfies Mutant
