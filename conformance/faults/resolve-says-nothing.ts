// An endpoint that is there and empty: nothing changes in it.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolve answers with an empty object.',
  caughtBy: ['PURE-04'],
  start: referenceWith({
    body: (body, { path }) => (path.startsWith('/api/cloud/model/resolve') ? '{}' : body),
  }),
} satisfies Fault
