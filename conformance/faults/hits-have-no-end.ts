// The end mark was not part of the answer.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream from the cache lacks its end.',
  caughtBy: ['USE-08'],
  start: (directory, env) => {
    let hit = false
    return referenceWith({
      head({ headers }) {
        hit = headers['x-gateway-cache'] === 'HIT'
      },
      event: (event) => (hit && event.includes('[DONE]') ? [] : [event]),
    })(directory, env)
  },
} satisfies Fault
