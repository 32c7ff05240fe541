// A cache whose key is nothing at all.
import { bent, callIn, type Mutant, type World } from '../mutant.ts'

export const mutant = {
  what: 'Every call gets the answer of the first one.',
  kills: ['ROUTE-01', 'ROUTE-06', 'FLOW-01'],
  start: (directory, env) => {
    const first = new Map<boolean, Awaited<ReturnType<World['gateway']>>>()
    return bent({
      async request(wanted, { gateway }) {
        const call = callIn(wanted)
        if (!call) return
        const kept = first.get(call.stream === true) ?? (await gateway(wanted))
        first.set(call.stream === true, kept)
        return kept
      },
    })(directory, env)
  },
} satisfies Mutant
