// The catalog is fetched from the providers when it is read.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Reading the model list asks a provider for its own.',
  kills: ['PURE-03'],
  start: bent({
    async request({ path }, { list }) {
      if (path.startsWith('/v1/models')) await list()
    },
  }),
} satisfies Mutant
