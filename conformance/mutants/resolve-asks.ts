// The road is found by trying it.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Resolving a model makes a call.',
  kills: ['PURE-04'],
  start: bent({
    async request({ path }, { spend }) {
      if (path.startsWith('/api/cloud/model/resolve')) await spend({ max_tokens: 1 })
    },
  }),
} satisfies Mutant
