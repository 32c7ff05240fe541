// Tool calls are collected in one place.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'All tool calls of a stream have index 0.',
  kills: ['FLOW-08'],
  start: bent({
    event: (event) => [event.replace(/"index":[1-9](?=,"(id|function|type)")/g, '"index":0')],
  }),
} satisfies Mutant
