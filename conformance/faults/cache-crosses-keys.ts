// The same question, the same answer, whoever asks.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'An answer from the cache is given to another key.',
  caughtBy: ['USE-08'],
  start: (directory, env) => {
    let key: string | undefined
    return referenceWith({
      request(wanted) {
        if (!callIn(wanted)) return
        key ??= wanted.headers.authorization
        wanted.headers.authorization = key
      },
    })(directory, env)
  },
} satisfies Fault
