// A log of what went well.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Failed calls do not appear in the log.',
  caughtBy: ['LOG-01'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs?')
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data.filter((item: { state: string }) => item.state !== 'failed'),
          }))
        : body,
  }),
} satisfies Fault
