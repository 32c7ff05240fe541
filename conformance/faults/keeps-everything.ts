// Who deletes is sorry later.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Records have no cap.',
  caughtBy: ['LIFE-03'],
  start: referenceWith({
    config: (text) => text.replace(/retention: .*/, 'retention: { rows: 100000, days: 30, bytes: 1GiB }'),
  }),
} satisfies Fault
