// Disk is cheap, memory is not.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The cache that is configured never hits.',
  caughtBy: ['USE-08'],
  start: referenceWith({
    config: (text) => text.replace('cache: { enabled: true }', 'cache: { enabled: false }'),
  }),
} satisfies Fault
