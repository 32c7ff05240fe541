// After the first refused credential nobody is asked any more: no provider says a key, so none is passed on.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'From the third call on every call is answered with an error, and no provider is asked.',
  caughtBy: ['KEEP-01', 'FLOW-06', 'FLOW-09', 'FAIL-05'],
  start: (directory, env) => {
    let calls = 0
    return referenceWith({
      request(wanted) {
        if (!callIn(wanted) || ++calls < 2) return
        const error = { message: 'Not today.', type: 'server_error', param: null, code: null }
        const headers = { 'content-type': 'application/json' }
        return { status: 502, headers, body: JSON.stringify({ error }) }
      },
    })(directory, env)
  },
} satisfies Fault
