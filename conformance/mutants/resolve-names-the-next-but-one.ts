// The turn was taken already when it is told.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolve names the second candidate.',
  kills: ['ROUTE-11'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => {
            const { provider, model } = json.candidates?.[1] ?? {}
            return provider ? { ...json, provider, resolved_model: model } : json
          })
        : body,
  }),
} satisfies Mutant
