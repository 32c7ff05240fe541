// One in three.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolve gives every candidate the same probability.',
  caughtBy: ['ROUTE-11'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? body.replace(/"probability":\s*[\d.]+/g, '"probability":0.3333')
        : body,
  }),
} satisfies Fault
