// A parameter nobody uses.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The log cannot be filtered by session.',
  caughtBy: ['LOG-08'],
  start: referenceWith({
    request(wanted) {
      if (wanted.path.startsWith('/api/usage/request-logs?'))
        wanted.path = wanted.path.replace(/session_id=[^&]*&?/, '')
    },
  }),
} satisfies Fault
