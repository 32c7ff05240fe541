// Errors are for people.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Errors are plain text.',
  kills: ['FAIL-01'],
  start: bent({
    head(head) {
      if (head.status >= 400) head.headers['content-type'] = 'text/plain'
    },
    body: (body, wanted) =>
      (callIn(wanted) || wanted.method === 'POST') && body.includes('"error"')
        ? 'Something went wrong'
        : body,
  }),
} satisfies Mutant
