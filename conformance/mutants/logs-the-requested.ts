// The record credits what was asked for.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record names the requested model as the one that served.',
  kills: ['LOG-02'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({ ...json, resolved_model: json.requested_model }))
        : body,
  }),
} satisfies Mutant
