// Every stream gets a proper end.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A stream that the provider cut ends like one that is complete.',
  caughtBy: ['FLOW-06'],
  start: referenceWith({ hidesCuts: true }),
} satisfies Fault
