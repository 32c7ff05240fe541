// Tool calls are collected in one place.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'All tool calls of a stream have index 0.',
  caughtBy: ['FLOW-08'],
  start: referenceWith({
    event: (event) => [event.replace(/"index":[1-9](?=,"(id|function|type)")/g, '"index":0')],
  }),
} satisfies Fault
