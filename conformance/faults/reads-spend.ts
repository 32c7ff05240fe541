// Somebody thought that a log should be summarised by a model.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Reading the request log makes a call.',
  caughtBy: ['PURE-01'],
  start: referenceWith({
    async request({ method, path }, { spend }) {
      if (method === 'GET' && path.startsWith('/api/usage/request-logs')) await spend()
    },
  }),
} satisfies Fault
