// What is on the table is ready.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolve calls a target ready that cools.',
  caughtBy: ['ROUTE-09'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve') ? body.replaceAll('"cooling"', '"ready"') : body,
  }),
} satisfies Fault
