// Asking where a call would go counts as a call.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Each answer of resolve names the next target.',
  kills: ['PURE-04'],
  start: bent({
    body: (body, { path }, { count }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => ({ ...json, provider: count % 2 === 0 ? json.provider : 'groq' }))
        : body,
  }),
} satisfies Mutant
