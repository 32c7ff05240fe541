// Whoever binds a public address knows why.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A public address without keys is no reason to refuse.',
  caughtBy: ['KEEP-06'],
  start: referenceWith({
    config: (text) => text.replace('host: 0.0.0.0, ', ''),
  }),
} satisfies Fault
