// A log is no place for such names.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The record holds a tidied model name.',
  kills: ['TELL-06'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/usage/request-logs/')
        ? changeJson(body, (json) => ({
            ...json,
            requested_model: json.requested_model?.replace(/[^ -~]/g, '?'),
          }))
        : body,
  }),
} satisfies Mutant
