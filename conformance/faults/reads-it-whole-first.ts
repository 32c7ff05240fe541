// How long it is, one knows at the end.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A body that is too long is refused only when all of it was read.',
  caughtBy: ['FAIL-03'],
  start: referenceWith({
    async request({ headers }) {
      if (Number(headers['content-length']) > 2 ** 26) await new Promise(() => {})
    },
  }),
} satisfies Fault
