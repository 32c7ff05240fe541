// The catalog is what the providers have.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Routes are not listed.',
  kills: ['CAT-01'],
  start: bent({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data.filter((item: { type: string }) => item.type !== 'route'),
          }))
        : body,
  }),
} satisfies Mutant
