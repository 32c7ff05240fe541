// The catalog shows what the session used.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The model list of a session has an entry more.',
  caughtBy: ['CAT-03'],
  start: referenceWith({
    body: (body, { path, headers }) =>
      path === '/v1/models' && headers['x-gateway-session-id']
        ? changeJson(body, (json) => ({
            ...json,
            data: [...json.data, { ...json.data[0], id: 'last-used' }],
          }))
        : body,
  }),
} satisfies Fault
