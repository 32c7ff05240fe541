// Memory is cheap.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The provider is read to its end, however slow the client is.',
  caughtBy: ['FLOW-10'],
  start: referenceWith({ ignoresSlowness: true }),
} satisfies Fault
