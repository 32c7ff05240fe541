// A cache whose key is nothing at all.
import { callIn, type Fault, referenceWith, type World } from '../fault.ts'

export const fault = {
  what: 'Every call gets the answer of the first one.',
  caughtBy: ['ROUTE-01', 'ROUTE-06', 'FLOW-01'],
  start: (directory, env) => {
    const first = new Map<boolean, Awaited<ReturnType<World['gateway']>>>()
    return referenceWith({
      async request(wanted, { gateway }) {
        const call = callIn(wanted)
        if (!call) return
        const kept = first.get(call.stream === true) ?? (await gateway(wanted))
        first.set(call.stream === true, kept)
        return kept
      },
    })(directory, env)
  },
} satisfies Fault
