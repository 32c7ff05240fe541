// A friendly word at the end.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Answers end with a sentence of the gateway.',
  caughtBy: ['TELL-05'],
  start: referenceWith({
    body: (body, wanted) =>
      callIn(wanted) ? body.replace(/("content":\s*"[^"]+)"/, '$1 (served by a fine gateway)"') : body,
  }),
} satisfies Fault
