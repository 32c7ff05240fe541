// The catalog is fetched from the providers when it is read.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Reading the model list asks a provider for its own.',
  caughtBy: ['PURE-03'],
  start: referenceWith({
    async request({ path }, { list }) {
      if (path.startsWith('/v1/models')) await list()
    },
  }),
} satisfies Fault
