// A log is no place for such names.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The record holds a tidied model name.',
  caughtBy: ['TELL-06'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            requested_model: json.requested_model?.replace(/[^ -~]/g, '?'),
          }))
        : body,
  }),
} satisfies Fault
