// The relay and the handler both say goodbye.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream ends with two end marks.',
  kills: ['FLOW-07'],
  start: bent({
    event: (event) => (event.includes('[DONE]') ? [event, event] : [event]),
  }),
} satisfies Mutant
