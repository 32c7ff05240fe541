// The answer is fetched to its end, whoever reads it.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The provider is not told when the client goes away.',
  caughtBy: ['FLOW-05'],
  start: referenceWith({ ignoresLeaving: true }),
} satisfies Fault
