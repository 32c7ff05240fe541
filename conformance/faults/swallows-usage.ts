// The usage event is taken for one of our own.
import { changeEvent, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Stream usage that was asked for does not arrive.',
  caughtBy: ['USE-03'],
  start: referenceWith({
    event: (event) => changeEvent(event, (json) => (json.usage && json.choices?.length === 0 ? null : json)),
  }),
} satisfies Fault
