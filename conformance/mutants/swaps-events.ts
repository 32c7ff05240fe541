// Two writers, one stream.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Two events change places.',
  kills: ['FLOW-01'],
  start: (directory, env) => {
    let held = ''
    return bent({
      event(event, index) {
        if (index === 3) held = event
        return index === 3 ? [] : index === 4 ? [event, held] : [event]
      },
    })(directory, env)
  },
} satisfies Mutant
