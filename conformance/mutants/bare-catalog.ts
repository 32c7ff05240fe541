// An array is a list too.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The model list is a bare array.',
  kills: ['CAT-01'],
  start: bent({
    body: (body, { path }) => (path === '/v1/models' ? changeJson(body, (json) => json.data) : body),
  }),
} satisfies Mutant
