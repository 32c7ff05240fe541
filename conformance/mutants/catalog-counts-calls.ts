// The catalog is sorted by use.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The model list changes after a call.',
  kills: ['CAT-03'],
  start: bent({
    body: (body, { path }, { count }) =>
      path === '/v1/models' ? changeJson(body, (json) => ({ ...json, used: count })) : body,
  }),
} satisfies Mutant
