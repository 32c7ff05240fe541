// Whatever is thrown is a 500.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Malformed JSON is answered with 500.',
  caughtBy: ['FAIL-02'],
  start: referenceWith({
    head(head, wanted) {
      if (wanted.method === 'POST' && callIn(wanted) === null) head.status = 500
    },
  }),
} satisfies Fault
