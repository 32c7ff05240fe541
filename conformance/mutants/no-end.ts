// The end mark is an event of the provider alone.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The end mark is left out.',
  kills: ['FLOW-07'],
  start: bent({
    event: (event) => (event.includes('[DONE]') ? [] : [event]),
  }),
} satisfies Mutant
