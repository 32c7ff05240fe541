// A model that cannot will say so.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'What a call needs does not matter for its target.',
  kills: ['ROUTE-12'],
  start: bent({
    config: (text) => text.replace(/capabilities: \{[^}]*\}/g, ''),
  }),
} satisfies Mutant
