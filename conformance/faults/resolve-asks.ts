// The road is found by trying it.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolving a model makes a call.',
  caughtBy: ['PURE-04'],
  start: referenceWith({
    async request({ path }, { spend }) {
      if (path.startsWith('/api/cloud/model/resolve')) await spend({ max_tokens: 1 })
    },
  }),
} satisfies Fault
