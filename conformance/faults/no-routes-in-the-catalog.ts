// The catalog is what the providers have.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Routes are not listed.',
  caughtBy: ['CAT-01'],
  start: referenceWith({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data.filter((item: { type: string }) => item.type !== 'route'),
          }))
        : body,
  }),
} satisfies Fault
