// Providers are hard to understand.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The message of the provider is replaced.',
  caughtBy: ['FAIL-04'],
  start: referenceWith({
    body: (body) => body.replace(/"message":"[^"]*tokens too long[^"]*"/, '"message":"The request failed."'),
  }),
} satisfies Fault
