// Streams are logged before their end.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Streamed usage reaches the client as zeros.',
  kills: ['USE-01'],
  start: bent({
    event: (event) => [event.replace(/"(prompt|completion|total)_tokens":\d+/g, '"$1_tokens":0')],
  }),
} satisfies Mutant
