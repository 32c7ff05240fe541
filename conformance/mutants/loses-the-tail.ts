// A buffer with an end that nobody thought of.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Of a long stream the last events of text are lost.',
  kills: ['FLOW-01'],
  start: bent({
    event: (event, index) => (index > 5_000 && /"content":\s*"\d/.test(event) ? [] : [event]),
  }),
} satisfies Mutant
