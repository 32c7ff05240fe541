// The catalog shows what the session used.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The model list of a session has an entry more.',
  kills: ['CAT-03'],
  start: bent({
    body: (body, { path, headers }) =>
      path === '/v1/models' && headers['x-gateway-session-id']
        ? changeJson(body, (json) => ({
            ...json,
            data: [...json.data, { ...json.data[0], id: 'last-used' }],
          }))
        : body,
  }),
} satisfies Mutant
