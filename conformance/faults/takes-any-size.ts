// Memory is there to be used.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A body over the limit is taken.',
  caughtBy: ['FAIL-03'],
  start: referenceWith({
    config: (text) => text.replace('body_limit: 64KiB', 'body_limit: 20MiB'),
  }),
} satisfies Fault
