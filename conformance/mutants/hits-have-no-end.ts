// The end mark was not part of the answer.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream from the cache lacks its end.',
  kills: ['USE-08'],
  start: (directory, env) => {
    let hit = false
    return bent({
      head({ headers }) {
        hit = headers['x-gateway-cache'] === 'HIT'
      },
      event: (event) => (hit && event.includes('[DONE]') ? [] : [event]),
    })(directory, env)
  },
} satisfies Mutant
