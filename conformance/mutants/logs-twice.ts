// A record for the call and one for the answer.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A streamed call stands in the log twice.',
  kills: ['LOG-01'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data.flatMap((item: { id: string; stream: boolean }) =>
              item.stream ? [item, { ...item, id: `${item.id}-2` }] : [item],
            ),
          }))
        : body,
  }),
} satisfies Mutant
