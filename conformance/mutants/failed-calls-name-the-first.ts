// Blame goes where the call was sent.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A failed call names the target that was picked, not the last one.',
  kills: ['LOG-05'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.state === 'failed'
              ? { ...json, resolved_provider: json.picked_provider, resolved_model: json.picked_model }
              : json,
          )
        : body,
  }),
} satisfies Mutant
