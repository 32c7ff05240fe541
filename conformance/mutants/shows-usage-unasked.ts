// What the gateway asked for is passed on as well.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The usage event reaches clients that did not ask for it.',
  kills: ['USE-03'],
  start: bent({
    request(wanted) {
      changeCall(wanted, (call) =>
        call.stream ? { ...call, stream_options: { include_usage: true } } : call,
      )
    },
  }),
} satisfies Mutant
