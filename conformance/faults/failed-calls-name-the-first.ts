// Blame goes where the call was sent.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A failed call names the target that was picked, not the last one.',
  caughtBy: ['LOG-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) =>
            json.state === 'failed'
              ? { ...json, resolved_provider: json.picked_provider, resolved_model: json.picked_model }
              : json,
          )
        : body,
  }),
} satisfies Fault
