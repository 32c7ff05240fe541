// The browser will look after it.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A page of a foreign origin is served.',
  caughtBy: ['KEEP-06'],
  start: referenceWith({
    request({ headers }) {
      delete headers.origin
    },
  }),
} satisfies Fault
