// A model that cannot will say so.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'What a call needs does not matter for its target.',
  caughtBy: ['ROUTE-12'],
  start: referenceWith({
    config: (text) => text.replace(/capabilities: \{[^}]*\}/g, ''),
  }),
} satisfies Fault
