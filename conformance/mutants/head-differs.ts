// HEAD is written by hand and forgets what GET says.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'HEAD on a read path has another content type than GET.',
  kills: ['PURE-06'],
  start: bent({
    head(head, { method }) {
      if (method === 'HEAD') head.headers['content-type'] = 'text/html'
    },
  }),
} satisfies Mutant
