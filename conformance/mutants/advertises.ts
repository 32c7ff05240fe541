// A friendly word at the end.
import { bent, callIn, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Answers end with a sentence of the gateway.',
  kills: ['TELL-05'],
  start: bent({
    body: (body, wanted) =>
      callIn(wanted) ? body.replace(/("content":\s*"[^"]+)"/, '$1 (served by a fine gateway)"') : body,
  }),
} satisfies Mutant
