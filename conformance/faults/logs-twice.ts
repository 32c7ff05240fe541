// A record for the call and one for the answer.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A streamed call stands in the log twice.',
  caughtBy: ['LOG-01'],
  start: referenceWith({
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
} satisfies Fault
