// The same question, the same answer, whoever asks.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'An answer from the cache is given to another key.',
  kills: ['USE-08'],
  start: (directory, env) => {
    let key: string | undefined
    return bent({
      request(wanted) {
        if (!callIn(wanted)) return
        key ??= wanted.headers.authorization
        wanted.headers.authorization = key
      },
    })(directory, env)
  },
} satisfies Mutant
