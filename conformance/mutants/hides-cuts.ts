// Every stream gets a proper end.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A stream that the provider cut ends like one that is complete.',
  kills: ['FLOW-06'],
  start: bent({ hidesCuts: true }),
} satisfies Mutant
