// Providers are hard to understand.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The message of the provider is replaced.',
  kills: ['FAIL-04'],
  start: bent({
    body: (body) => body.replace(/"message":"[^"]*tokens too long[^"]*"/, '"message":"The request failed."'),
  }),
} satisfies Mutant
