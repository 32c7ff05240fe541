// A log of what went well.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Failed calls do not appear in the log.',
  kills: ['LOG-01'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data.filter((item: { state: string }) => item.state !== 'failed'),
          }))
        : body,
  }),
} satisfies Mutant
