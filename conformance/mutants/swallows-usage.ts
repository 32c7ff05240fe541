// The usage event is taken for one of our own.
import { bent, changeEvent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Stream usage that was asked for does not arrive.',
  kills: ['USE-03'],
  start: bent({
    event: (event) => changeEvent(event, (json) => (json.usage && json.choices?.length === 0 ? null : json)),
  }),
} satisfies Mutant
