// The turn was taken already when it is told.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Resolve names the second candidate.',
  caughtBy: ['ROUTE-11'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => {
            const { provider, model } = json.candidates?.[1] ?? {}
            return provider ? { ...json, provider, resolved_model: model } : json
          })
        : body,
  }),
} satisfies Fault
