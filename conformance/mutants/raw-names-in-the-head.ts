// Headers are bytes.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A header holds a name that is not encoded.',
  kills: ['TELL-06'],
  start: bent({
    head({ headers }, wanted) {
      const model = String(callIn(wanted)?.model ?? '').replace(/\p{Cc}/gu, '')
      if (model)
        headers['x-requested-model'] = Buffer.from(model)
          .toString('latin1')
          .replace(/\p{Cc}/gu, '')
    },
  }),
} satisfies Mutant
