// A finish reason for the provider and one for the client.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The finish reason is given twice.',
  kills: ['FLOW-07'],
  start: bent({
    event: (event) => (/"finish_reason":"/.test(event) ? [event, event] : [event]),
  }),
} satisfies Mutant
