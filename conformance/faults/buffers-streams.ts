// An answer is passed on when it is there.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Events arrive when the stream has ended.',
  caughtBy: ['FLOW-03'],
  start: (directory, env) => {
    let held: string[] = []
    return referenceWith({
      event(event) {
        held.push(event)
        if (!event.includes('[DONE]')) return []
        const all = held
        held = []
        return all
      },
    })(directory, env)
  },
} satisfies Fault
