// HEAD is written by hand and forgets what GET says.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'HEAD on a read path has another content type than GET.',
  caughtBy: ['PURE-06'],
  start: referenceWith({
    head(head, { method }) {
      if (method === 'HEAD') head.headers['content-type'] = 'text/html'
    },
  }),
} satisfies Fault
