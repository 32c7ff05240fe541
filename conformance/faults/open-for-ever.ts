// Perhaps it still comes.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Calls that a kill interrupted stay open on record.',
  caughtBy: ['LIFE-01'],
  asCommand: true,
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs') ? body.replaceAll('"interrupted"', '"streaming"') : body,
  }),
} satisfies Fault
