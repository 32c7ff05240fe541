// Two names for one limit, both filled in.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'What is forwarded is not valid for the provider.',
  caughtBy: ['ROUTE-05'],
  start: referenceWith({
    upstream: {
      request(wanted) {
        if (wanted.body.length > 0)
          wanted.body = Buffer.from(wanted.body.toString().replace(/\}$/, ',"top_logprobs":"many"}'))
      },
    },
  }),
} satisfies Fault
