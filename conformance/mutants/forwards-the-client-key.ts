// All headers are passed on.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The key of the client reaches the provider.',
  kills: ['KEEP-02'],
  start: (directory, env) => {
    let key = ''
    return bent({
      request(wanted) {
        if (callIn(wanted)) key = String(wanted.headers.authorization ?? wanted.headers['x-api-key'])
      },
      upstream: {
        request(wanted) {
          wanted.headers['x-forwarded-authorization'] = key
        },
      },
    })(directory, env)
  },
} satisfies Mutant
