// An error after the beginning is logged, not sent.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An error inside a stream does not reach the client.',
  kills: ['FLOW-09'],
  start: bent({
    event: (event) => (event.includes('"error"') ? ['data: [DONE]\n\n'] : [event]),
    hidesCuts: true,
  }),
} satisfies Mutant
