// Streams are logged before their end.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Streamed usage reaches the client as zeros.',
  caughtBy: ['USE-01'],
  start: referenceWith({
    event: (event) => [event.replace(/"(prompt|completion|total)_tokens":\d+/g, '"$1_tokens":0')],
  }),
} satisfies Fault
