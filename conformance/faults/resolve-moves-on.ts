// Asking where a call would go counts as a call.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Each answer of resolve names the next target.',
  caughtBy: ['PURE-04'],
  start: referenceWith({
    body: (body, { path }, { count }) =>
      path.startsWith('/api/cloud/model/resolve')
        ? changeJson(body, (json) => ({ ...json, provider: count % 2 === 0 ? json.provider : 'groq' }))
        : body,
  }),
} satisfies Fault
