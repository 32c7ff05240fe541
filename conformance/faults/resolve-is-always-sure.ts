// A forecast without doubt sells better.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolve calls a draw by chance deterministic.',
  caughtBy: ['ROUTE-11'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => ({ ...json, deterministic: true }))
        : body,
  }),
} satisfies Fault
