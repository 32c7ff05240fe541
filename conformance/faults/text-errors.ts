// Errors are for people.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Errors are plain text.',
  caughtBy: ['FAIL-01'],
  start: referenceWith({
    head(head) {
      if (head.status >= 400) head.headers['content-type'] = 'text/plain'
    },
    body: (body, wanted) =>
      (callIn(wanted) || wanted.method === 'POST') && body.includes('"error"')
        ? 'Something went wrong'
        : body,
  }),
} satisfies Fault
