// An answer is passed on when it is there.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Events arrive when the stream has ended.',
  kills: ['FLOW-03'],
  start: (directory, env) => {
    let held: string[] = []
    return bent({
      event(event) {
        held.push(event)
        if (!event.includes('[DONE]')) return []
        const all = held
        held = []
        return all
      },
    })(directory, env)
  },
} satisfies Mutant
