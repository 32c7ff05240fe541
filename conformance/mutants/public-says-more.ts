// A price list does no harm.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Public metadata holds a field more.',
  kills: ['KEEP-05'],
  start: bent({
    body: (body, { path }) =>
      path === '/v1beta/models'
        ? changeJson(body, (json) => ({
            models: json.models?.map((each: object) => ({ ...each, base_url: 'https://internal.example' })),
          }))
        : body,
  }),
} satisfies Mutant
