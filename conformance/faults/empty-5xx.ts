// A status says enough.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A broken provider becomes an error without a body.',
  caughtBy: ['FAIL-05'],
  start: referenceWith({
    body: (body, wanted) => (callIn(wanted) && /"upstream_/.test(body) ? '' : body),
  }),
} satisfies Fault
