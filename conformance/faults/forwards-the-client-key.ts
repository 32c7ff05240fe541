// All headers are passed on.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The key of the client reaches the provider.',
  caughtBy: ['KEEP-02'],
  start: (directory, env) => {
    let key = ''
    return referenceWith({
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
} satisfies Fault
