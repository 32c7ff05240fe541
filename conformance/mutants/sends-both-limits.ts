// Two names for one limit, both filled in.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'What is forwarded is not valid for the provider.',
  kills: ['ROUTE-05'],
  start: bent({
    upstream: {
      request(wanted) {
        if (wanted.body.length > 0)
          wanted.body = Buffer.from(wanted.body.toString().replace(/\}$/, ',"top_logprobs":"many"}'))
      },
    },
  }),
} satisfies Mutant
