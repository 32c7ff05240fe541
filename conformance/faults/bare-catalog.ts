// An array is a list too.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The model list is a bare array.',
  caughtBy: ['CAT-01'],
  start: referenceWith({
    body: (body, { path }) => (path === '/v1/models' ? changeJson(body, (json) => json.data) : body),
  }),
} satisfies Fault
