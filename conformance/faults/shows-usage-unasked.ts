// What the gateway asked for is passed on as well.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The usage event reaches clients that did not ask for it.',
  caughtBy: ['USE-03'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.stream ? { ...call, stream_options: { include_usage: true } } : call,
      )
    },
  }),
} satisfies Fault
