// The cursor stands on the next row, or behind it.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Each further page lacks its first row.',
  kills: ['LOG-09'],
  start: bent({
    body: (body, { path }) =>
      path.includes('cursor=') ? changeJson(body, (json) => ({ ...json, data: json.data?.slice(1) })) : body,
  }),
} satisfies Mutant
