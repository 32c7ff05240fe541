// Two writers, one stream.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Two events change places.',
  caughtBy: ['FLOW-01'],
  start: (directory, env) => {
    let held = ''
    return referenceWith({
      event(event, index) {
        if (index === 3) held = event
        return index === 3 ? [] : index === 4 ? [event, held] : [event]
      },
    })(directory, env)
  },
} satisfies Fault
