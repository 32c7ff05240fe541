// What is declared and not there spends nothing, and proves nothing.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'One of the declared read paths is answered with 404.',
  caughtBy: ['PURE-01'],
  start: referenceWith({
    head(head, { path }) {
      if (path.startsWith('/api/sessions')) head.status = 404
    },
  }),
} satisfies Fault
