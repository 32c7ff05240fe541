// The parser throws where nobody catches.
import { CHAT, callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Malformed JSON ends the connection without an answer.',
  caughtBy: ['FAIL-02'],
  start: referenceWith({
    request(wanted) {
      if (wanted.path === CHAT && wanted.method === 'POST' && callIn(wanted) === null)
        throw new Error('unexpected token')
    },
  }),
} satisfies Fault
