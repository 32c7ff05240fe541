// The parser throws where nobody catches.
import { bent, CHAT, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Malformed JSON ends the connection without an answer.',
  kills: ['FAIL-02'],
  start: bent({
    request(wanted) {
      if (wanted.path === CHAT && wanted.method === 'POST' && callIn(wanted) === null)
        throw new Error('unexpected token')
    },
  }),
} satisfies Mutant
