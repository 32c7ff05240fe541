// Headers are bytes.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A header holds a name that is not encoded.',
  caughtBy: ['TELL-06'],
  start: referenceWith({
    head({ headers }, wanted) {
      const model = String(callIn(wanted)?.model ?? '').replace(/\p{Cc}/gu, '')
      if (model)
        headers['x-requested-model'] = Buffer.from(model)
          .toString('latin1')
          .replace(/\p{Cc}/gu, '')
    },
  }),
} satisfies Fault
