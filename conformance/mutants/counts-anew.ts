// The gateway has its own tokeniser.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Usage is counted anew instead of being passed on.',
  kills: ['USE-01'],
  start: bent({
    body: (body, wanted) =>
      callIn(wanted) ? body.replace(/"prompt_tokens":\s*\d+/, '"prompt_tokens":2000') : body,
  }),
} satisfies Mutant
