// The catalog is sorted by use.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The model list changes after a call.',
  caughtBy: ['CAT-03'],
  start: referenceWith({
    body: (body, { path }, { count }) =>
      path === '/v1/models' ? changeJson(body, (json) => ({ ...json, used: count })) : body,
  }),
} satisfies Fault
